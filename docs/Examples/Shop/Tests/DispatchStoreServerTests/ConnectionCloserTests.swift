import DispatchStoreServer
import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOHTTPTypes
import Testing

@Suite struct ConnectionCloserTests {
  private let readiness = Readiness(of: Bank().dispatcher)
  private let channel = EmbeddedChannel()

  init() throws {
    try channel.pipeline.syncOperations.addHandler(
      readiness.connectionCloser(
        patience: .seconds(1), requestTime: .seconds(5), answerTime: .seconds(20),
        lastAnswerTime: .seconds(3)))
    try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 80)).wait()
  }

  private func request() throws {
    try halfRequest()
    try channel.writeInbound(HTTPRequestPart.end(nil))
  }

  private func halfRequest() throws {
    try channel.writeInbound(
      HTTPRequestPart.head(HTTPRequest(method: .post, scheme: nil, authority: nil, path: "/")))
  }

  private func piece() throws {
    try channel.writeInbound(HTTPRequestPart.body(ByteBuffer(string: "x")))
  }

  /// Sends an answer; returns its header `Connection`.
  private func answer() throws -> String? {
    try channel.writeOutbound(HTTPResponsePart.head(HTTPResponse(status: .ok)))
    try channel.writeOutbound(HTTPResponsePart.end(nil))
    guard case .head(let head) = try channel.readOutbound(as: HTTPResponsePart.self) else {
      return nil
    }
    _ = try channel.readOutbound(as: HTTPResponsePart.self)
    return head.headerFields[.connection]
  }

  private func stopServer() {
    channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
  }

  /// Says whether the client has read what is sent.
  private func read(_ hasRead: Bool) {
    channel.isWritable = hasRead
    channel.pipeline.fireChannelWritabilityChanged()
  }

  /// Keeps the output open while what is written is on its way, as a socket does.
  private final class Way: ChannelOutboundHandler {
    typealias OutboundIn = Any
    private var ends: [EventLoopPromise<Void>] = []

    func close(
      context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?
    ) {
      if mode == .output {
        if let promise { ends.append(promise) }
      } else {
        context.close(mode: mode, promise: promise)
      }
    }

    func getThrough() {
      for end in ends { end.succeed() }
      ends = []
    }
  }

  private func makeWay() throws -> Way {
    let way = Way()
    try channel.pipeline.syncOperations.addHandler(way, position: .first)
    return way
  }

  @Test func aServiceThatIsReadyKeepsItsConnections() throws {
    for _ in 1...2 {
      try request()
      #expect(try answer() == nil)
    }
    #expect(channel.isActive)
  }

  @Test func anAnswerAfterTheEndOfReadinessIsTheLastOne() throws {
    try request()
    readiness.end()
    #expect(try answer() == "close")
    #expect(!channel.isActive)
  }

  @Test func aConnectionWithoutARequestIsClosedAfterThePatience() throws {
    stopServer()
    channel.embeddedEventLoop.advanceTime(by: .milliseconds(900))
    #expect(channel.isActive)
    channel.embeddedEventLoop.advanceTime(by: .milliseconds(100))
    #expect(!channel.isActive)
  }

  @Test func aRequestWhoseEndDoesNotComeHoldsTheEndUpNoLonger() throws {
    try halfRequest()
    stopServer()
    channel.embeddedEventLoop.advanceTime(by: .milliseconds(900))
    try piece()
    #expect(channel.isActive)
    channel.embeddedEventLoop.advanceTime(by: .milliseconds(100))
    #expect(!channel.isActive)
  }

  @Test func theAnswerBeforeARequestWhoseEndDoesNotComeIsGiven() throws {
    try request()
    try halfRequest()
    stopServer()
    channel.embeddedEventLoop.advanceTime(by: .seconds(2))
    #expect(channel.isActive)
    #expect(try answer() == nil)
    channel.embeddedEventLoop.advanceTime(by: .seconds(1))
    #expect(!channel.isActive)
  }

  @Test func aRequestThatIsIgnoredDoesNotCutTheLastAnswer() throws {
    try request()
    readiness.end()
    try channel.writeOutbound(HTTPResponsePart.head(HTTPResponse(status: .ok)))
    try halfRequest()
    stopServer()
    channel.embeddedEventLoop.advanceTime(by: .seconds(5))
    #expect(channel.isActive)
    try channel.writeOutbound(HTTPResponsePart.end(nil))
    #expect(!channel.isActive)
  }

  @Test func aRequestThatComesTooSlowlyIsEnded() throws {
    try halfRequest()
    for _ in 1...5 {
      channel.embeddedEventLoop.advanceTime(by: .seconds(1))
      try piece()
      #expect(channel.isActive)
    }
    channel.embeddedEventLoop.advanceTime(by: .seconds(1))
    try piece()
    #expect(!channel.isActive)
  }

  @Test func aRequestThatWasOnItsWayIsAnswered() throws {
    stopServer()
    try request()
    channel.embeddedEventLoop.advanceTime(by: .seconds(5))
    #expect(channel.isActive)
    #expect(try answer() == "close")
    #expect(!channel.isActive)
  }

  @Test(arguments: [false, true])
  func anAnswerThatIsOnItsWayIsNotCutOff(isLast: Bool) throws {
    let way = try makeWay()
    try request()
    if isLast { readiness.end() }
    #expect(try answer() == (isLast ? "close" : nil))
    stopServer()
    channel.embeddedEventLoop.advanceTime(by: .seconds(3))
    #expect(channel.isActive)
    way.getThrough()
    #expect(!channel.isActive)
  }

  @Test func anAnswerThatIsOnItsWayHoldsTheEndUpForItsTime() throws {
    let way = try makeWay()
    stopServer()
    try request()
    #expect(try answer() == "close")
    channel.embeddedEventLoop.advanceTime(by: .milliseconds(3_900))
    #expect(channel.isActive)
    channel.embeddedEventLoop.advanceTime(by: .milliseconds(100))
    #expect(!channel.isActive)
    way.getThrough()
  }

  @Test func aClientThatDoesNotReadIsDisconnected() throws {
    try request()
    for hasRead in [false, true, false] {
      read(hasRead)
      channel.embeddedEventLoop.advanceTime(by: .seconds(19))
    }
    #expect(channel.isActive)
    channel.embeddedEventLoop.advanceTime(by: .seconds(1))
    #expect(!channel.isActive)
  }

  @Test func aClientThatHasGoneWithoutReadingIsForgotten() throws {
    weak var forgotten: EmbeddedChannel?
    do {
      let channel = EmbeddedChannel()
      forgotten = channel
      try channel.pipeline.syncOperations.addHandler(readiness.connectionCloser())
      try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 80)).wait()
      channel.isWritable = false
      channel.pipeline.fireChannelWritabilityChanged()
      channel.close(promise: nil)
      channel.embeddedEventLoop.run()
    }
    #expect(forgotten == nil)
  }

  @Test(arguments: [false, true])
  func aClientThatDoesNotReadHoldsTheEndUpForTheTimeOfALastAnswer(isLate: Bool) throws {
    try request()
    if !isLate { read(false) }
    stopServer()
    if isLate { read(false) }
    channel.embeddedEventLoop.advanceTime(by: .milliseconds(2_900))
    #expect(channel.isActive)
    channel.embeddedEventLoop.advanceTime(by: .milliseconds(100))
    #expect(!channel.isActive)
  }

  @Test func aClientThatGoesOnSendingGetsItsLastAnswer() throws {
    try request()
    stopServer()
    channel.embeddedEventLoop.advanceTime(by: .seconds(1))
    try request()
    #expect(try answer() == "close")
    #expect(!channel.isActive)
  }
}
