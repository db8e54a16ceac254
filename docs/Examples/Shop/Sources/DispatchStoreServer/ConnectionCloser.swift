import HTTPTypes
public import Hummingbird
public import Logging
public import NIOCore
import NIOHTTPTypes

extension Readiness {
  /// Makes a server that no client holds up, neither while it serves nor at its end.
  ///
  /// It disconnects a client that sends nothing for 30 s, unless its answer is under way: events may last. Each
  /// connection gets a `connectionCloser`.
  ///
  /// - Parameters:
  ///   - router: The router.
  ///   - configuration: The address, which is `127.0.0.1:8080` by default: a container needs another one, such as
  ///     `.init(address: .hostname("0.0.0.0", port: 8080))`. Its `availableConnectionsDelegate` bounds the connections.
  ///   - requestTime: The longest time in which a request's body may come in pieces.
  ///   - logger: The server's logger.
  public func makeServer<Context: RequestContext>(
    _ router: Router<Context>, configuration: ApplicationConfiguration = .init(),
    requestTime: Duration = .seconds(30), logger: Logger
  ) -> Application<RouterResponder<Context>>
  where Context.Source == ApplicationRequestContextSource {
    Application(
      router: router,
      server: .http1(
        configuration: .init(
          additionalChannelHandlers: [self.connectionCloser(requestTime: requestTime)],
          idleTimeout: .seconds(30))),
      configuration: configuration, logger: logger)
  }

  /// Makes a handler that ends connections: when the service ends, without losing a request, and at any time if a
  /// client sends or reads too slowly.
  ///
  /// Once the readiness has failed, each answer says `Connection: close`, so the client's next request takes another
  /// connection. When the server stops, a connection without a whole request stays open for `patience`: a request that
  /// is on its way is answered. The server needs one for each connection, as that of `makeServer` has.
  ///
  /// - Parameters:
  ///   - patience: The time for a request that is on its way when the server stops. After it, the connection takes no
  ///     further one.
  ///   - requestTime: The longest time in which a request's body may come in pieces. A client that sends nothing at all
  ///     is a matter of the server's `idleTimeout`.
  ///   - answerTime: The longest time in which more may be sent than the connection holds, because the client does not
  ///     read. A large answer needs it as a whole, unless it is written in pieces.
  ///   - lastAnswerTime: The same once the server stops, also for the rest of an answer that the connection holds. Give
  ///     more to clients that take longer for their answers: what is left then is cut off.
  public func connectionCloser(
    patience: Duration = .milliseconds(250), requestTime: Duration = .seconds(30),
    answerTime: Duration = .seconds(30), lastAnswerTime: Duration = .seconds(1)
  ) -> any RemovableChannelHandler {
    ConnectionCloser(
      self, patience: TimeAmount(patience), requestTime: TimeAmount(requestTime),
      answerTime: TimeAmount(answerTime), lastAnswerTime: TimeAmount(lastAnswerTime))
  }
}

/// The handler of one connection.
///
/// | the connection | once the readiness has failed | once the server stops |
/// |---|---|---|
/// | is idle, or has only the beginning of a request | | is closed after the patience |
/// | waits for answers | the last one says `close` | so it does; after the patience, no more requests are taken |
/// | has written an answer that said `close` | the client closes it | is closed once all has been sent |
/// | sends what the client does not read | is closed after `answerTime` | is closed after `lastAnswerTime` |
private final class ConnectionCloser: ChannelDuplexHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPRequestPart
  typealias InboundOut = HTTPRequestPart
  typealias OutboundIn = HTTPResponsePart
  typealias OutboundOut = HTTPResponsePart

  private let readiness: Readiness
  private let patience, requestTime, answerTime, lastAnswerTime: TimeAmount
  /// The number of requests that have begun, and whose answers have not ended.
  private var requests = 0
  /// The time at which the request began whose end has not come yet.
  private var began: NIODeadline?
  private var isStopping = false
  /// False once the connection's last answer has begun, or the patience is over.
  private var takesRequests = true
  private var ignoresRequests = false
  /// Closes the connection, unless the client reads before.
  private var unread: Scheduled<Void>?

  init(
    _ readiness: Readiness, patience: TimeAmount, requestTime: TimeAmount, answerTime: TimeAmount,
    lastAnswerTime: TimeAmount
  ) {
    (self.readiness, self.patience, self.requestTime) = (readiness, patience, requestTime)
    (self.answerTime, self.lastAnswerTime) = (answerTime, lastAnswerTime)
  }

  /// Whether nobody waits for an answer to a whole request.
  private var isIdle: Bool { requests == 0 || requests == 1 && began != nil }

  func channelActive(context: ChannelHandlerContext) {
    // A connection that is accepted while the server stops has nobody to serve it. If it became active, NIO would stop
    // the program (swift-nio issue 2813).
    if !readiness.isEnding { context.fireChannelActive() }
  }

  func channelInactive(context: ChannelHandlerContext) {
    // The task would keep the channel in memory until its time.
    unread?.cancel()
    context.fireChannelInactive()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head:
      if takesRequests {
        requests += 1
        began = context.eventLoop.now
      } else {
        // The client will read no answer to it, so nobody may act on it.
        ignoresRequests = true
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
      takesRequests = false
      head.headerFields[.connection] = "close"
      context.write(wrapOutboundOut(.head(head)), promise: promise)
    case .end where requests == 1 && (isStopping || !takesRequests):
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

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    watchClient(context)
    context.fireChannelWritabilityChanged()
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    guard event is ChannelShouldQuiesceEvent else {
      return context.fireUserInboundEventTriggered(event)
    }
    isStopping = true
    watchClient(context)
    closeLater(context)
  }

  /// Begins the time in which the client has to read, if it has not read what is sent.
  private func watchClient(_ context: ChannelHandlerContext) {
    unread?.cancel()
    unread = nil
    let channel = context.channel
    if channel.isWritable { return }
    // Until the client reads, the handler is suspended in its write, so no other event would end the connection.
    let time = isStopping ? lastAnswerTime : answerTime
    unread = context.eventLoop.assumeIsolated().scheduleTask(in: time) {
      channel.close(promise: nil)
    }
  }

  /// Closes the connection after the patience, unless an answer is awaited then: its end comes here again.
  private func closeLater(_ context: ChannelHandlerContext) {
    let (channel, loop) = (context.channel, context.eventLoop.assumeIsolated())
    loop.scheduleTask(in: patience) {
      self.takesRequests = false
      guard self.isIdle else { return }
      // Unlike a close of both halves, that of the output waits for what is written, and still on its way.
      channel.close(mode: .output).whenComplete { _ in channel.close(promise: nil) }
      loop.scheduleTask(in: self.lastAnswerTime) { channel.close(promise: nil) }
    }
  }
}
