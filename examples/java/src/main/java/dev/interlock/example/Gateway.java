package dev.interlock.example;

import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.shaded.io.netty.channel.ChannelOption;
import io.grpc.netty.shaded.io.netty.channel.MultiThreadIoEventLoopGroup;
import io.grpc.netty.shaded.io.netty.channel.nio.NioIoHandler;
import io.grpc.netty.shaded.io.netty.channel.socket.nio.NioDomainSocketChannel;
import io.grpc.netty.shaded.io.netty.util.concurrent.DefaultThreadFactory;
import io.grpc.stub.MetadataUtils;
import java.net.UnixDomainSocketAddress;
import java.util.Optional;
import java.util.concurrent.ThreadFactory;

/** The way to the gateway. */
final class Gateway {
    private static final Metadata.Key<String> AUTHORIZATION =
            Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);
    private static final ThreadFactory DAEMONS = new DefaultThreadFactory("interlock", true);

    private Gateway() {}

    /**
     * Opens a channel to the gateway that INTERLOCK_ADDRESS names: "unix:/path", or "host:port" with the token in
     * INTERLOCK_TOKEN. Plain text is for this machine only; leave usePlaintext out for TLS.
     */
    static ManagedChannel connect() {
        String address = variable("INTERLOCK_ADDRESS").orElse("127.0.0.1:7080");
        NettyChannelBuilder builder = address.startsWith("unix:")
                ? overSocket(address.substring("unix:".length()))
                : NettyChannelBuilder.forTarget(address);
        variable("INTERLOCK_TOKEN").ifPresent(token -> {
            Metadata headers = new Metadata();
            headers.put(AUTHORIZATION, "Bearer " + token);
            builder.intercept(MetadataUtils.newAttachHeadersInterceptor(headers));
        });
        return builder.usePlaintext().maxInboundMessageSize(32 << 20).build(); // images are part of a result
    }

    private static NettyChannelBuilder overSocket(String path) {
        return NettyChannelBuilder.forAddress(UnixDomainSocketAddress.of(path))
                .overrideAuthority("localhost") // else it is the path, which is no authority in HTTP/2
                .channelType(NioDomainSocketChannel.class)
                .withOption(ChannelOption.SO_KEEPALIVE, null) // else it warns that such sockets have none
                .eventLoopGroup(new MultiThreadIoEventLoopGroup(1, DAEMONS, NioIoHandler.newFactory()));
    }

    private static Optional<String> variable(String name) {
        return Optional.ofNullable(System.getenv(name)).filter(value -> !value.isEmpty());
    }
}
