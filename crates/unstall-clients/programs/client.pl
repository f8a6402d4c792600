# One request by IO::Socket::IP.
use strict;
use warnings;
use IO::Socket::IP;
my ($host, $port, $limit) = @ARGV;
my $socket = IO::Socket::IP->new(PeerHost => $host, PeerPort => $port, defined $limit ? (Timeout => $limit) : ())
    or die "$@\n";
print $socket "HEAD / HTTP/1.0\r\n\r\n";
$socket->flush;
defined(my $line = <$socket>) or die "empty reply\n";
