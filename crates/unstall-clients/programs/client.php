<?php
// One request by a stream or by the curl extension.
[, $how, $url, $host, $port] = $argv;
$limit = isset($argv[5]) ? (float) $argv[5] : null;
function fails(string $why): never
{
    fwrite(STDERR, "$why\n");
    exit(1);
}
if ($how === 'curl') {
    $request = curl_init($url);
    curl_setopt_array($request, [CURLOPT_RETURNTRANSFER => true] + ($limit ? [CURLOPT_TIMEOUT_MS => (int) ($limit * 1000)] : []));
    curl_exec($request) === false && fails(curl_error($request));
    exit(0);
}
$address = 'tcp://' . (str_contains($host, ':') ? "[$host]" : $host) . ":$port";
$stream = @stream_socket_client($address, $code, $why, $limit) or fails($why);
fwrite($stream, "HEAD / HTTP/1.0\r\n\r\n");
fgets($stream) === false && fails('empty reply');
