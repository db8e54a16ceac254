import DispatchStore
import DispatchStoreServer
import Hummingbird
import HummingbirdTesting
import Logging
import NIOCore
import NIOPosix
import Testing

@Suite(.timeLimit(.minutes(1))) struct ServerTests {
  private let router = Router()
  private let begun = AsyncStream.makeStream(of: Void.self)

  /// Sends a text to a server that ends once its handlers have begun for a number of requests.
  private func send(_ text: String, begins number: Int = 1) async throws {
    let readiness = Readiness(of: Dispatcher(name: "test"))
    let server = readiness.makeServer(router, logger: Logger(label: "test"))
    // The server is told to end once the closure has returned.
    try await server.test(.live) { [begun] client in
      let port = try #require(client.port)
      let connection = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .channelOption(ChannelOptions.autoRead, value: false)
        .connect(host: "localhost", port: port).get()
      try await connection.writeAndFlush(ByteBuffer(string: text))
      var requests = begun.stream.makeAsyncIterator()
      for _ in 1...number { _ = await requests.next() }
    }
  }

  @Test func aClientThatNeverEndsItsRequestDoesNotHoldUpTheEnd() async throws {
    router.post("/orders") { [begun] request, _ in
      begun.continuation.yield()
      for try await _ in request.body {}
      return HTTPResponse.Status.ok
    }
    try await send("POST /orders HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nha")
  }

  /// One answer is on its way as a whole; the write of a second one waits for the client.
  @Test(arguments: [1, 2])
  func aClientThatReadsNoAnswerDoesNotHoldUpTheEnd(requests: Int) async throws {
    router.get("/orders") { [begun] _, _ in
      begun.continuation.yield()
      return ByteBuffer(repeating: 0, count: 50_000_000)
    }
    let request = "GET /orders HTTP/1.1\r\nHost: localhost\r\n\r\n"
    try await send(String(repeating: request, count: requests), begins: requests)
  }
}
