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
      readiness.connectionCloser(patience: .seconds(1), requestTime: .seconds(5)))
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
}
