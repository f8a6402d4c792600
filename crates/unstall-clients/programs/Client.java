import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.time.Duration;

/** One request by one of Java's three ways to connect. */
public final class Client {
    private static final byte[] REQUEST = "HEAD / HTTP/1.0\r\n\r\n".getBytes();

    public static void main(String[] words) {
        int limit = words.length > 4 ? Integer.parseInt(words[4]) * 1000 : 0;
        InetSocketAddress address = new InetSocketAddress(words[2], Integer.parseInt(words[3]));
        try {
            switch (words[0]) {
                case "socket": socket(address, limit); break;
                case "channel": channel(address); break;
                default: http(words[1], limit);
            }
            System.exit(0);
        } catch (Exception error) {
            System.err.println(error);
            System.exit(1);
        }
    }

    private static void socket(InetSocketAddress address, int limit) throws IOException {
        try (Socket socket = new Socket()) {
            socket.connect(address, limit);
            OutputStream out = socket.getOutputStream();
            out.write(REQUEST);
            InputStream in = socket.getInputStream();
            if (in.read() < 0) throw new IOException("empty reply");
        }
    }

    private static void channel(InetSocketAddress address) throws IOException {
        try (SocketChannel channel = SocketChannel.open(address)) {
            channel.write(ByteBuffer.wrap(REQUEST));
            if (channel.read(ByteBuffer.allocate(1)) < 0) throw new IOException("empty reply");
        }
    }

    private static void http(String url, int limit) throws Exception {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(url));
        if (limit > 0) request.timeout(Duration.ofMillis(limit));
        HttpClient.newHttpClient().send(request.build(), HttpResponse.BodyHandlers.discarding());
    }
}
