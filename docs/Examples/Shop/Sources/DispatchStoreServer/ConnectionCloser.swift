import HTTPTypes
public import NIOCore
import NIOHTTPTypes

extension Readiness {
  /// Makes a handler that ends connections: when the service ends, without losing a request, and at any time if a
  /// request comes too slowly.
  ///
  /// Once the readiness has failed, each answer says `Connection: close`, so the client's next request takes another
  /// connection. When the server stops, a connection without a whole request stays open for `patience`: a request that
  /// is on its way is answered. The server needs one for each connection:
  ///
  ///     Application(
  ///       router: router,
  ///       server: .http1(configuration: .init(additionalChannelHandlers: [readiness.connectionCloser()])))
  ///
  /// - Parameters:
  ///   - patience: The time for a request that is on its way when the server stops.
  ///   - requestTime: The longest time in which a request's body may come in pieces. A client that sends nothing at all
  ///     is a matter of the server's `idleTimeout`.
  public func connectionCloser(
    patience: Duration = .milliseconds(250), requestTime: Duration = .seconds(30)
  ) -> any RemovableChannelHandler {
    ConnectionCloser(
      self, patience: TimeAmount(patience), requestTime: TimeAmount(requestTime))
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
  private let requestTime: TimeAmount
  /// The number of requests that have begun, and whose answers have not ended.
  private var requests = 0
  /// The time at which the request began whose end has not come yet.
  private var began: NIODeadline?
  private var isStopping = false
  /// Whether the last answer of the connection has begun.
  private var isLast = false
  private var ignoresRequests = false

  init(_ readiness: Readiness, patience: TimeAmount, requestTime: TimeAmount) {
    (self.readiness, self.patience, self.requestTime) = (readiness, patience, requestTime)
  }

  /// Whether nobody waits for an answer to a whole request.
  private var isIdle: Bool { requests == 0 || requests == 1 && began != nil }

  func channelActive(context: ChannelHandlerContext) {
    // A connection that is accepted while the server stops has nobody to serve it. If it became active, NIO would stop
    // the program (swift-nio issue 2813).
    if !readiness.isEnding { context.fireChannelActive() }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head:
      // The client will read no answer to it, so nobody may act on it.
      if isLast {
        ignoresRequests = true
      } else {
        requests += 1
        began = context.eventLoop.now
      }
    case .body:
      if let began, context.eventLoop.now - began > requestTime {
        return context.close(promise: nil)
      }
    case .end: began = nil
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
      if isStopping && isIdle { closeLater(context) }
    default:
      context.write(data, promise: promise)
    }
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    guard event is ChannelShouldQuiesceEvent else {
      return context.fireUserInboundEventTriggered(event)
    }
    isStopping = true
    if isIdle { closeLater(context) }
  }

  private func closeLater(_ context: ChannelHandlerContext) {
    let channel = context.channel
    context.eventLoop.assumeIsolated().scheduleTask(in: patience) {
      if self.isIdle { channel.close(promise: nil) }
    }
  }
}
