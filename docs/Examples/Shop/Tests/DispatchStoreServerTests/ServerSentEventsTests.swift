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

  private let limit = StreamLimit(1)

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
    router.get("/") { [limit] _, _ in try Response.serverSentEvents(events, within: limit) }
    let response = try await Application(router: router).test(.router) {
      try await $0.execute(uri: "/", method: .get)
    }
    #expect(response.headers[.contentType] == "text/event-stream")
    #expect(
      String(buffer: response.body) == "id: 1\nevent: placed\ndata: a\ndata: b\n\ndata: \n\n")
  }

  @Test func aNewlineInAFieldBeginsNoOtherField() async throws {
    let event = ServerSentEvent(id: "1\ndata: x", data: "y")
    let body = try Response.serverSentEvents(stream(event), within: limit).body
    let (lines, written) = AsyncStream.makeStream(of: String.self)
    try await body.write(Writer(written: written))
    var all = ""
    for await line in lines { all += line }
    #expect(all == "id: 1data: x\ndata: y\n\n")
  }

  @Test func aCommentIsSentAtEachHeartbeat() async throws {
    let clock = VirtualClock()
    let (events, event) = AsyncStream.makeStream(of: ServerSentEvent.self)
    let body = try Response.serverSentEvents(
      events, within: limit, heartbeat: .seconds(15), clock: clock
    ).body
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
    let body = try Response.serverSentEvents(events, within: limit).body
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

  @Test func anErrorOfTheSequenceBreaksTheResponseOff() async throws {
    let events = AsyncThrowingStream<ServerSentEvent, any Error> { $0.finish(throwing: Broken()) }
    let body = try Response.serverSentEvents(events, within: limit).body
    let (_, written) = AsyncStream.makeStream(of: String.self)
    await #expect(throws: Broken.self) { try await body.write(Writer(written: written)) }
  }

  @Test func aStreamTooManyIs503UntilAnotherOneHasEnded() async throws {
    do {
      let first = try Response.serverSentEvents(stream(), within: limit)
      let second = try Response.serverSentEvents(stream(), within: limit)
      #expect(second.status == .serviceUnavailable && second.headers[.retryAfter] == "10")
      let (_, written) = AsyncStream.makeStream(of: String.self)
      try await first.body.write(Writer(written: written))
    }
    #expect(try Response.serverSentEvents(stream(), within: limit).status == .ok)
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
