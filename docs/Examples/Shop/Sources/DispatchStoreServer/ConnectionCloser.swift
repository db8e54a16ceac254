import HTTPTypes
public import NIOCore
import NIOHTTPTypes

extension Readiness {
  /// Makes a handler that ends a kept-alive connection without losing a request, when the service ends.
  ///
  /// Once the readiness has failed, each answer says `Connection: close`, so the client's next request takes another
  /// connection. When the server stops, a connection without a request stays open for `patience`: a request that is on
  /// its way is answered. The server needs one for each connection:
  ///
  ///     Application(
  ///       router: router,
  ///       server: .http1(configuration: .init(additionalChannelHandlers: [readiness.connectionCloser()])))
  public func connectionCloser(
    patience: Duration = .milliseconds(250)
  ) -> any RemovableChannelHandler {
    ConnectionCloser(self, patience: TimeAmount(patience))
  }
}

/// The handler of one connection.
private final class ConnectionCloser: ChannelDuplexHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPRequestPart
  typealias InboundOut = HTTPRequestPart
  typealias OutboundIn = HTTPResponsePart
  typealias OutboundOut = HTTPResponsePart

  private let readiness: Readiness
  private let patience: TimeAmount
  /// The number of requests that have begun, and whose answers have not ended.
  private var requests = 0
  private var isStopping = false
  /// Whether the last answer of the connection has begun.
  private var isLast = false
  private var ignoresRequests = false

  init(_ readiness: Readiness, patience: TimeAmount) {
    (self.readiness, self.patience) = (readiness, patience)
  }

  func channelActive(context: ChannelHandlerContext) {
    // A connection that is accepted while the server stops has nobody to serve it. If it became active, NIO would stop
    // the program (swift-nio issue 2813).
    if !readiness.isEnding { context.fireChannelActive() }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if case .head = unwrapInboundIn(data) {
      // The client will read no answer to it, so nobody may act on it.
      if isLast { ignoresRequests = true } else { requests += 1 }
    }
    if !ignoresRequests { context.fireChannelRead(data) }
  }

  func write(
    context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?
  ) {
    switch unwrapOutboundIn(data) {
    case .head(var head) where requests == 1 && (isStopping || readiness.isEnding):
      isLast = true
      head.headerFields[.connection] = "close"
      context.write(wrapOutboundOut(.head(head)), promise: promise)
    case .end where requests == 1 && (isLast || isStopping):
      requests = 0
      context.writeAndFlush(data, promise: promise)
      // The client closes the other half: if both were closed at once, it could lose the answer's end.
      context.close(mode: .output, promise: nil)
      if isStopping { closeLater(context) }
    case .end:
      // The answer to a head that can't be parsed belongs to no request.
      requests = max(requests - 1, 0)
      context.write(data, promise: promise)
    default:
      context.write(data, promise: promise)
    }
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    guard event is ChannelShouldQuiesceEvent else {
      return context.fireUserInboundEventTriggered(event)
    }
    isStopping = true
    if requests == 0 { closeLater(context) }
  }

  private func closeLater(_ context: ChannelHandlerContext) {
    let channel = context.channel
    context.eventLoop.assumeIsolated().scheduleTask(in: patience) {
      if self.requests == 0 { channel.close(promise: nil) }
    }
  }
}
