import DispatchStoreServer
import DispatchStoreTesting
import Hummingbird
import HummingbirdTesting
import ServiceLifecycleTestKit
import Testing

@Suite struct ServerSentEventsTests {
  /// A writer that hands over what is written.
  private struct Writer: ResponseBodyWriter {
    let written: AsyncStream<String>.Continuation
    func write(_ buffer: ByteBuffer) async throws { written.yield(String(buffer: buffer)) }
    func finish(_ trailingHeaders: HTTPFields?) async throws { written.finish() }
  }

  private struct Broken: Error {}

  private func stream(_ events: ServerSentEvent...) -> AsyncStream<ServerSentEvent> {
    AsyncStream { continuation in
      for event in events { continuation.yield(event) }
      continuation.finish()
    }
  }

  @Test func eventsAreSentWithTheirFieldsAndEachLineOfTheirData() async throws {
    let router = Router()
    let events = stream(
      ServerSentEvent(id: "1", event: "placed", data: "a\nb"), ServerSentEvent(data: ""))
    router.get("/") { _, _ in Response.serverSentEvents(events) }
    let response = try await Application(router: router).test(.router) {
      try await $0.execute(uri: "/", method: .get)
    }
    #expect(response.headers[.contentType] == "text/event-stream")
    #expect(
      String(buffer: response.body) == "id: 1\nevent: placed\ndata: a\ndata: b\n\ndata: \n\n")
  }

  @Test func aNewlineInAFieldBeginsNoOtherField() async throws {
    let body = Response.serverSentEvents(stream(ServerSentEvent(id: "1\ndata: x", data: "y"))).body
    let (lines, written) = AsyncStream.makeStream(of: String.self)
    try await body.write(Writer(written: written))
    var all = ""
    for await line in lines { all += line }
    #expect(all == "id: 1data: x\ndata: y\n\n")
  }

  @Test func aCommentIsSentAtEachHeartbeat() async throws {
    let clock = VirtualClock()
    let (events, event) = AsyncStream.makeStream(of: ServerSentEvent.self)
    let body = Response.serverSentEvents(events, heartbeat: .seconds(15), clock: clock).body
    let (lines, written) = AsyncStream.makeStream(of: String.self)
    async let write: Void = body.write(Writer(written: written))
    var line = lines.makeAsyncIterator()
    for _ in 1...2 {
      await clock.waitForSleepers(atLeast: 1)
      clock.advance(by: .seconds(15))
      #expect(await line.next() == ": heartbeat\n\n")
    }
    event.yield(ServerSentEvent(data: "x"))
    #expect(await line.next() == "data: x\n\n")
    event.finish()
    try await write
    #expect(await line.next() == nil)
  }

  @Test func gracefulShutdownEndsTheResponse() async throws {
    let (events, event) = AsyncStream.makeStream(of: ServerSentEvent.self)
    let body = Response.serverSentEvents(events).body
    let (lines, written) = AsyncStream.makeStream(of: String.self)
    try await testGracefulShutdown { trigger in
      async let write: Void = body.write(Writer(written: written))
      event.yield(ServerSentEvent(data: "x"))
      var line = lines.makeAsyncIterator()
      #expect(await line.next() == "data: x\n\n")
      trigger.triggerGracefulShutdown()
      try await write
      #expect(await line.next() == nil)
    }
  }

  /// A writer to a client that does not read.
  private struct FullWriter: ResponseBodyWriter {
    let isFull: AsyncStream<Void>.Continuation
    func write(_ buffer: ByteBuffer) async throws {
      isFull.finish()
      try await VirtualClock().sleep(for: .seconds(1))
    }
    func finish(_ trailingHeaders: HTTPFields?) async throws {}
  }

  @Test(.timeLimit(.minutes(1)))
  func aClientThatDoesNotReadHoldsUpGracefulShutdownForASecond() async throws {
    let clock = VirtualClock()
    let (events, event) = AsyncStream.makeStream(of: ServerSentEvent.self)
    let body = Response.serverSentEvents(events, clock: clock).body
    let (full, isFull) = AsyncStream.makeStream(of: Void.self)
    try await testGracefulShutdown { trigger in
      async let write: Void = body.write(FullWriter(isFull: isFull))
      event.yield(ServerSentEvent(data: "x"))
      for await _ in full {}
      trigger.triggerGracefulShutdown()
      // Those of the heartbeat and of the second.
      await clock.waitForSleepers(atLeast: 2)
      clock.advance(by: .seconds(1))
      do {
        try await write
        Issue.record("The response has ended as if all of it were sent.")
      } catch is CancellationError {}
    }
  }

  @Test func anErrorOfTheSequenceBreaksTheResponseOff() async throws {
    let events = AsyncThrowingStream<ServerSentEvent, any Error> { $0.finish(throwing: Broken()) }
    let body = Response.serverSentEvents(events).body
    let (_, written) = AsyncStream.makeStream(of: String.self)
    await #expect(throws: Broken.self) { try await body.write(Writer(written: written)) }
  }

  @Test func aClientThatComesBackNamesItsLastEvent() async throws {
    let router = Router()
    router.get("/") { request, _ in request.lastEventID ?? "none" }
    try await Application(router: router).test(.router) { client in
      for (headers, id) in [(HTTPFields(), "none"), ([.init("Last-Event-ID")!: "7"], "7")] {
        let response = try await client.execute(uri: "/", method: .get, headers: headers)
        #expect(String(buffer: response.body) == id)
      }
    }
  }
}
