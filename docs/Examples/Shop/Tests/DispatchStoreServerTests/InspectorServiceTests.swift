import DispatchStore
import DispatchStoreServer
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import InMemoryLogging
import Logging
import NIOCore
import NIOEmbedded
import NIOPosix
import ServiceLifecycle
import ServiceLifecycleTestKit
import Testing

@Suite(.timeLimit(.minutes(2))) struct InspectorServiceTests {
  private struct Charge: ActionType { let customer: String, amount: Int }

  /// A writer that hands over what is written.
  private struct Writer: ResponseBodyWriter {
    let written: AsyncStream<String>.Continuation
    func write(_ buffer: ByteBuffer) async throws { written.yield(String(buffer: buffer)) }
    func finish(_ trailingHeaders: HTTPFields?) async throws { written.finish() }
  }

  private let bank = Bank()
  private let recorder = DispatchRecorder(masking: [.field(\Charge.customer)])
  private let logger = Logger(label: "test")

  init() {
    bank.dispatcher.register(middleware: recorder)
    bank.dispatcher.register(
      store: Store(identifier: "charges", model: 0) {
        On(Charge.self) { sum, charge in sum += charge.amount }
      })
  }

  private func service(
    host: String = "127.0.0.1", port: Int = 8081, readerLimit: Int = 8, logger: Logger? = nil
  ) -> InspectorService {
    InspectorService(
      of: recorder, at: bank.dispatcher, host: host, port: port, readerLimit: readerLimit,
      logger: logger ?? self.logger)
  }

  private func get(
    _ path: String, host: String? = "127.0.0.1:8081", lastEventID: String? = nil,
    from service: InspectorService
  ) async throws -> Response {
    var head = HTTPRequest(method: .get, scheme: nil, authority: host, path: path)
    head.headerFields[HTTPField.Name("Last-Event-ID")!] = lastEventID
    let source = ApplicationRequestContextSource(channel: EmbeddedChannel(), logger: logger)
    return try await service.makeRouter().buildResponder().respond(
      to: Request(head: head, body: RequestBody(buffer: ByteBuffer())),
      context: BasicRequestContext(source: source))
  }

  private func status(
    _ path: String, host: String? = "127.0.0.1:8081", from service: InspectorService
  ) async throws -> HTTPResponse.Status {
    do {
      return try await get(path, host: host, from: service).status
    } catch let error as HTTPError {
      return error.status
    }
  }

  /// Returns the text of the events until one contains a text, or the stream has ended.
  private func text(of response: Response, until end: String) async throws -> String {
    let (lines, written) = AsyncStream.makeStream(of: String.self)
    return try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await response.body.write(Writer(written: written)) }
      var text = ""
      for await line in lines {
        text += line
        if text.contains(end) { break }
      }
      group.cancelAll()
      return text
    }
  }

  @Test func thePageFollowsTheEventsAndHasNoEntries() async throws {
    await bank.dispatcher.send(Deposit(amount: 1))
    let response = try await get("/", from: service())
    #expect(response.headers[.contentType] == "text/html; charset=utf-8")
    let (lines, written) = AsyncStream.makeStream(of: String.self)
    try await response.body.write(Writer(written: written))
    var page = ""
    for await line in lines { page += line }
    #expect(page.contains(#""name":"bank""#) && page.contains(#""live":"events""#))
    #expect(page.contains(#""entries":{"count":0,"#))
  }

  @Test func aRequestIsAnEventWithoutItsMaskedFields() async throws {
    let router = Router()
    router.post("/charges/:customer") { [bank] _, context in
      let customer = try context.parameters.require("customer")
      try await bank.dispatcher.send(Charge(customer: customer, amount: 42)).get()
      return HTTPResponse.Status.created
    }
    let response = try await Application(router: router).test(.router) {
      try await $0.execute(uri: "/charges/Annabelle", method: .post)
    }
    #expect(response.status == .created)
    let events = try await text(of: get("/events", from: service()), until: "event: entries")
    #expect(events.contains("-0\nevent: status\n") && events.contains("-1\nevent: entries\n"))
    #expect(events.contains("Charge") && events.contains("42") && !events.contains("Annabelle"))
  }

  @Test(arguments: [false, true])
  func aPageThatComesBackGetsWhatItHasMissed(wasRefused: Bool) async throws {
    for amount in 101...103 { await bank.dispatcher.send(Deposit(amount: amount)) }
    let first = try await text(of: get("/events", from: service()), until: "event: status")
    let id = try #require(first.firstMatch(of: /id: ([0-9]+)-0\n/)?.1)
    let response = try await get(
      wasRefused ? "/events?after=\(id)-2" : "/events",
      lastEventID: wasRefused ? nil : "\(id)-2", from: service())
    let events = try await text(of: response, until: "event: entries")
    #expect(events.contains("103") && !events.contains("102"))
  }

  @Test(arguments: [
    "evil.example:8081", "127.0.0.1.evil.example:8081", "127.evil.example", "8081", ":8081", nil,
  ])
  func aHostThatIsNotThisOneOnLoopbackIsRefused(host: String?) async throws {
    for path in ["/", "/events"] {
      #expect(try await status(path, host: host, from: service()) == .forbidden)
    }
  }

  @Test(arguments: [
    "127.0.0.1:8081", "localhost:8081", "[::1]:8081", "127.0.0.1:9000", "127.0.0.1", "[::1]",
    "LOCALHOST:80",
  ])
  func theHostsOfLoopbackAreAnsweredWithAnyPort(host: String) async throws {
    #expect(try await status("/", host: host, from: service()) == .ok)
  }

  @Test(arguments: ["127.0.0.2", "::1", "::ffff:127.0.0.1", "localhost."])
  func eachAddressOfLoopbackIsProtected(_ address: String) async throws {
    let service = service(host: address)
    #expect(try await status("/", host: "evil.example:8081", from: service) == .forbidden)
    #expect(try await status("/", host: "127.0.0.1:8081", from: service) == .ok)
  }

  @Test func anotherAddressThanLoopbackAnswersToEachHost() async throws {
    #expect(try await status("/", host: "shop:80", from: service(host: "0.0.0.0")) == .ok)
  }

  @Test func aPageTooManyGets503UntilAnotherOneHasLeft() async throws {
    let service = service(readerLimit: 1)
    do {
      let first = try await get("/events", from: service)
      #expect(try await status("/events", from: service) == .serviceUnavailable)
      _ = try await text(of: first, until: "event: status")
    }
    #expect(try await status("/events", from: service) == .ok)
  }

  @Test func gracefulShutdownEndsTheEvents() async throws {
    let response = try await get("/events", from: service())
    let (lines, written) = AsyncStream.makeStream(of: String.self)
    try await testGracefulShutdown { trigger in
      async let write: Void = response.body.write(Writer(written: written))
      var line = lines.makeAsyncIterator()
      #expect(await line.next()?.contains("event: status") == true)
      trigger.triggerGracefulShutdown()
      try await write
      while await line.next() != nil {}
    }
  }

  @Test func aPortThatIsTakenIsAWarningAndEndsNothing() async throws {
    let other = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .bind(host: "127.0.0.1", port: 0).get()
    let port = try #require(other.localAddress?.port)
    let (warnings, warned) = AsyncStream.makeStream(of: String.self)
    let service = service(port: port, logger: Logger(label: "test") { _ in Warnings(to: warned) })
    try await testGracefulShutdown { trigger in
      async let run: Void = service.run()
      for await warning in warnings {
        #expect(warning.contains("not served at 127.0.0.1:\(port)"))
        break
      }
      trigger.triggerGracefulShutdown()
      try await run
    }
    try await other.close()
  }

  /// Hands over the texts of warnings.
  private struct Warnings: LogHandler {
    var metadata = Logger.Metadata()
    var logLevel = Logger.Level.warning
    let continuation: AsyncStream<String>.Continuation

    init(to continuation: AsyncStream<String>.Continuation) { self.continuation = continuation }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
      if event.level == .warning { continuation.yield("\(event.message)") }
    }
  }
}
