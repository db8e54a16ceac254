import DispatchStore
import DispatchStoreServer
import Hummingbird
import HummingbirdTesting
import Logging
import NIOCore
import NIOPosix
import Testing

@testable import Recipes

@Suite(.timeLimit(.minutes(1))) struct TerminationTests {
  @Test func aClientThatNeverEndsItsRequestDoesNotHoldUpTheEnd() async throws {
    let begun = AsyncStream.makeStream(of: Void.self)
    let router = Router()
    router.post("/orders") { request, _ in
      begun.continuation.yield()
      for try await _ in request.body {}
      return HTTPResponse.Status.ok
    }
    let readiness = Readiness(of: Dispatcher(name: "test"))
    let server = makeServer(router, readiness, logger: Logger(label: "test"))
    // The server is told to end once the closure has returned.
    try await server.test(.live) { client in
      let port = try #require(client.port)
      let connection = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .connect(host: "localhost", port: port).get()
      let half = "POST /orders HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nha"
      try await connection.writeAndFlush(ByteBuffer(string: half))
      for await _ in begun.stream { break }
    }
  }
}
