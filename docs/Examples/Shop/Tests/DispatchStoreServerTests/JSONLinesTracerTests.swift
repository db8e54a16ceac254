import DispatchStore
import DispatchStoreServer
import Foundation
import Testing
import Tracing

@Suite struct JSONLinesTracerTests {
  private let file = FileManager.default.temporaryDirectory.appending(
    path: "\(UUID().uuidString).jsonl")
  private let bank = Bank()

  private func tracer(sampling: Double = 1, capacity: Int = 100) throws -> JSONLinesTracer {
    let tracer = try JSONLinesTracer(file: file, sampling: sampling, capacity: capacity)
    bank.dispatcher.register(middleware: DispatchTracer(tracer))
    return tracer
  }

  /// The spans in the file, by name.
  private func spans(of tracer: JSONLinesTracer) throws -> [String: [String: Any]] {
    tracer.forceFlush()
    let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
    let spans = try lines.map {
      try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
    }
    try FileManager.default.removeItem(at: file)
    return try Dictionary(
      uniqueKeysWithValues: spans.map { (try #require($0["name"] as? String), $0) })
  }

  @Test func aTraceIsWrittenWithTheFieldsOfOTLP() async throws {
    let tracer = try tracer()
    await bank.dispatcher.send(Withdraw(amount: 900))
    let spans = try spans(of: tracer)
    let dispatch = try #require(spans["Withdraw"])
    let store = try #require(spans["Withdraw in account"])
    #expect((dispatch["traceId"] as? String)?.count == 32)
    #expect(dispatch["parentSpanId"] == nil)
    #expect(dispatch["kind"] as? Int == 1)
    #expect(store["traceId"] as? String == dispatch["traceId"] as? String)
    #expect(store["parentSpanId"] as? String == dispatch["spanId"] as? String)
    let begin = try #require(UInt64(store["startTimeUnixNano"] as? String ?? ""))
    let end = try #require(UInt64(store["endTimeUnixNano"] as? String ?? ""))
    #expect(begin <= end)
    let status = try #require(store["status"] as? [String: Any])
    #expect(status["code"] as? Int == 2)
    let events = try #require(store["events"] as? [[String: Any]])
    #expect(events.first?["name"] as? String == "exception")
    let attributes = try #require(store["attributes"] as? [[String: Any]])
    let outcome = attributes.first { $0["key"] as? String == "dispatch.outcome" }
    #expect((outcome?["value"] as? [String: Any])?["stringValue"] as? String == "failed")
  }

  @Test(arguments: Way.allCases)
  func nothingOfASampledOutTraceIsWritten(way: Way) async throws {
    let tracer = try tracer(sampling: 0)
    await way.run(Transfer(amount: 1), by: bank.dispatcher)
    #expect(try spans(of: tracer).isEmpty)
  }

  private struct Inject: ActionType {}
  private enum RequestKey: InstrumentationContextKey { typealias Value = String }

  /// Whether or not the caller's context has something else.
  @Test(arguments: [nil, "7"] as [String?])
  func whatASampledOutDispatchCallsIsToldSo(request: String?) async throws {
    let tracer = try tracer(sampling: 0)
    let (headers, sent) = AsyncStream.makeStream(of: [String: String].self)
    let caller = bank.dispatcher.register(
      store: Store(identifier: "caller", model: 0) {
        Perform(Inject.self) { _, _ in
          var headers: [String: String] = [:]
          if let context = InstrumentationContext.current {
            tracer.inject(context, into: &headers, using: HeaderCarrier())
          }
          sent.yield(headers)
        }
      })
    var context: InstrumentationContext?
    if let request {
      context = .topLevel
      context?[RequestKey.self] = request
    }
    await InstrumentationContext.$current.withValue(context) {
      _ = await bank.dispatcher.send(Inject())
    }
    sent.finish()
    let header = await headers.first { _ in true }?["traceparent"]
    #expect(header?.hasSuffix("-00") == true)
    withExtendedLifetime(caller) {}
  }

  @Test func aSampledOutCallerIsObeyed() async throws {
    let tracer = try tracer()
    var context = InstrumentationContext.topLevel
    tracer.extract(
      ["traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"], into: &context,
      using: HeaderCarrier())
    await InstrumentationContext.$current.withValue(context) {
      _ = await bank.dispatcher.dispatch(Transfer(amount: 1), mode: .serial).result
    }
    #expect(try spans(of: tracer).isEmpty)
  }

  @Test func aServiceThatIsCalledByASampledOutTraceRecordsNothing() throws {
    let caller = try tracer(sampling: 0)
    let request = caller.startSpan("request", context: .topLevel)
    var headers: [String: String] = [:]
    caller.inject(request.context, into: &headers, using: HeaderCarrier())
    var context = InstrumentationContext.topLevel
    let called = try tracer()
    called.extract(headers, into: &context, using: HeaderCarrier())
    called.startSpan("call", context: context).end()
    #expect(try spans(of: called).isEmpty)
  }

  @Test func aCallerWhoIsNotTrustedBeginsNoTrace() throws {
    let tracer = try JSONLinesTracer(file: file, sampling: 0, trustsCallers: false)
    var context = InstrumentationContext.topLevel
    tracer.extract(
      ["traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"], into: &context,
      using: HeaderCarrier())
    tracer.startSpan("request", context: context).end()
    #expect(try spans(of: tracer).isEmpty)
  }

  @Test func theContextTravelsInTheHeaderTraceparent() async throws {
    let tracer = try tracer()
    let header = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    var context = InstrumentationContext.topLevel
    tracer.extract(["traceparent": header], into: &context, using: HeaderCarrier())
    var headers: [String: String] = [:]
    tracer.inject(context, into: &headers, using: HeaderCarrier())
    #expect(headers["traceparent"] == header)
    await InstrumentationContext.$current.withValue(context) {
      _ = await bank.dispatcher.send(Deposit(amount: 1))
    }
    let span = try #require(try spans(of: tracer)["Deposit"])
    #expect(span["traceId"] as? String == "0af7651916cd43dd8448eb211c80319c")
    #expect(span["parentSpanId"] as? String == "b7ad6b7169203331")
  }

  @Test(arguments: [
    "", "00", "00-0-0-01", "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
    "00-éf7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-xx",
  ])
  func aMalformedHeaderBeginsATraceOfItsOwn(header: String) throws {
    let tracer = try tracer()
    var context = InstrumentationContext.topLevel
    tracer.extract(["traceparent": header], into: &context, using: HeaderCarrier())
    let span = tracer.startSpan("request", context: context)
    span.end()
    let written = try #require(try spans(of: tracer)["request"])
    #expect(written["parentSpanId"] == nil)
  }

  @Test func tracersOfOneFileKeepEachOthersSpans() throws {
    let tracers = [try tracer(), try tracer()]
    for number in 0..<6 {
      tracers[number % 2].startSpan("span \(number)").end()
      tracers[number % 2].forceFlush()
    }
    #expect(try spans(of: tracers[0]).count == 6)
  }

  @Test func aFileThatCanNotBeOpenedIsAnError() {
    let folder = FileManager.default.temporaryDirectory
    #expect(throws: POSIXError.self) { try JSONLinesTracer(file: folder) }
  }

  @Test func spansAboveTheCapacityAreDroppedAndCounted() throws {
    let tracer = try tracer(capacity: 0)
    tracer.startSpan("request").end()
    #expect(tracer.droppedCount == 1)
    #expect(try spans(of: tracer).isEmpty)
  }

  private struct HeaderCarrier: Extractor, Injector {
    func extract(key: String, from carrier: [String: String]) -> String? { carrier[key] }
    func inject(_ value: String, forKey key: String, into carrier: inout [String: String]) {
      carrier[key] = value
    }
  }
}
