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
      readiness.connectionCloser(patience: .seconds(1)))
    try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 80)).wait()
  }

  private func request() throws {
    try channel.writeInbound(
      HTTPRequestPart.head(HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/")))
    try channel.writeInbound(HTTPRequestPart.end(nil))
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

  @Test func aRequestThatWasOnItsWayIsAnswered() throws {
    stopServer()
    try request()
    channel.embeddedEventLoop.advanceTime(by: .seconds(5))
    #expect(channel.isActive)
    #expect(try answer() == "close")
    #expect(!channel.isActive)
  }
}
