import Dispatch
public import Foundation
import Synchronization
public import Tracing

/// A tracer that writes each finished span as a line of JSON, with the fields of OTLP.
///
/// Spans are encoded and written on a queue of their own. If the disk can't keep up, they are dropped and counted, so
/// that memory is bounded. The context travels in the W3C header `traceparent`.
public final class JSONLinesTracer: Tracer {
  private let sampling: Double
  private let trustsCallers: Bool
  private let randomNumbers = RandomNumbers()
  private let writer: SpanWriter

  /// Makes a tracer that appends to a file.
  ///
  /// - Parameters:
  ///   - file: The file, which is made if it is not there.
  ///   - sampling: The share of traces that are recorded, from 0 to 1. Spans of one trace are recorded all or none, also
  ///     in the services that this one calls.
  ///   - trustsCallers: Whether a caller's trace goes on here, and is recorded if the caller says so. Say false in a
  ///     service for everyone: a client could have each of its requests recorded.
  ///   - capacity: The number of finished spans that may wait to be written.
  /// - Throws: An error if the file can't be opened.
  public init(
    file: URL, sampling: Double = 1, trustsCallers: Bool = true, capacity: Int = 10_000
  ) throws {
    (self.sampling, self.trustsCallers) = (sampling, trustsCallers)
    writer = try SpanWriter(file, capacity: capacity)
  }

  /// The number of spans that were not written, because too many waited.
  public var droppedCount: Int { writer.dropped.load(ordering: .relaxed) }

  /// Starts a span in the context's trace, or a new trace if the context has none.
  public func startSpan<Instant: TracerInstant>(
    _ operationName: String, context: @autoclosure () -> InstrumentationContext,
    ofKind kind: SpanKind, at instant: @autoclosure () -> Instant, function: String,
    file fileID: String, line: UInt
  ) -> JSONLinesSpan {
    var context = context()
    let parent = context[TraceKey.self]
    let isSampled = parent?.isSampled ?? (randomNumbers.share < sampling)
    guard isSampled else {
      if context.isEmpty {
        context = .sampledOut
      } else if parent == nil {
        context[TraceKey.self] = .sampledOut
      }
      return JSONLinesSpan(context: context, record: nil)
    }
    let trace = Trace(
      high: parent?.high ?? randomNumbers.next(), low: parent?.low ?? randomNumbers.next(),
      span: randomNumbers.next(), isSampled: true)
    context[TraceKey.self] = trace
    let record = SpanRecord(
      operationName, trace, parent: parent?.span, kind, begin: instant().nanosecondsSinceEpoch,
      for: writer)
    return JSONLinesSpan(context: context, record: record)
  }

  /// Waits until all spans that have ended are in the file.
  public func forceFlush() { writer.flush() }

  /// Writes the header `traceparent`.
  public func inject<Carrier, Inject: Injector>(
    _ context: InstrumentationContext, into carrier: inout Carrier, using injector: Inject
  ) where Inject.Carrier == Carrier {
    guard var trace = context[TraceKey.self] else { return }
    if trace.span == 0 {
      // The called service would begin a trace without a caller, if it were not told that this one is sampled out.
      trace = Trace(
        high: randomNumbers.next(), low: randomNumbers.next(), span: randomNumbers.next(),
        isSampled: false)
    }
    injector.inject(trace.header, forKey: "traceparent", into: &carrier)
  }

  /// Reads the header `traceparent`, if callers are trusted.
  public func extract<Carrier, Extract: Extractor>(
    _ carrier: Carrier, into context: inout InstrumentationContext, using extractor: Extract
  ) where Extract.Carrier == Carrier {
    guard trustsCallers, let header = extractor.extract(key: "traceparent", from: carrier) else {
      return
    }
    context[TraceKey.self] = Trace(header: header)
  }
}

/// A span of a `JSONLinesTracer`.
public struct JSONLinesSpan: Span {
  /// The context that has this span.
  public let context: InstrumentationContext
  /// Nil if the trace is sampled out.
  fileprivate let record: SpanRecord?

  /// Whether the span will be written.
  public var isRecording: Bool { record?.isRecording ?? false }

  /// The name.
  public var operationName: String {
    get { record?.state.withLock(\.name) ?? "" }
    nonmutating set { record?.state.withLock { $0.name = newValue } }
  }

  /// The attributes.
  public var attributes: SpanAttributes {
    get { record?.state.withLock(\.attributes) ?? [:] }
    nonmutating set { record?.state.withLock { $0.attributes = newValue } }
  }

  /// Sets the status.
  public func setStatus(_ status: SpanStatus) { record?.state.withLock { $0.status = status } }

  /// Adds an event.
  public func addEvent(_ event: SpanEvent) { record?.state.withLock { $0.events.append(event) } }

  /// Adds an event `exception`.
  public func recordError<Instant: TracerInstant>(
    _ error: any Error, attributes: SpanAttributes, at instant: @autoclosure () -> Instant
  ) {
    guard record != nil else { return }
    var attributes = attributes
    attributes["exception.type"] = "\(type(of: error))"
    attributes["exception.message"] = "\(error)"
    addEvent(SpanEvent(name: "exception", at: instant(), attributes: attributes))
  }

  /// Does nothing: links are not written.
  public func addLink(_ link: SpanLink) {}

  /// Ends the span; a second end does nothing.
  public func end<Instant: TracerInstant>(at instant: @autoclosure () -> Instant) {
    record?.end(at: instant().nanosecondsSinceEpoch)
  }
}

// MARK: The context

/// A span's place in its trace.
private struct Trace {
  var high: UInt64
  var low: UInt64
  /// Zero if the trace was begun here and is sampled out.
  var span: UInt64
  var isSampled: Bool

  static let sampledOut = Trace(high: 0, low: 0, span: 0, isSampled: false)

  static func hex(_ value: UInt64) -> String {
    let digits = String(value, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }

  var id: String { Self.hex(high) + Self.hex(low) }
  var header: String { "00-\(id)-\(Self.hex(span))-\(isSampled ? "01" : "00")" }
}

extension Trace {
  /// Nil if the header is malformed.
  init?(header: String) {
    let parts = header.split(separator: "-")
    guard parts.count >= 4, parts[1].utf8.count == 32, parts[2].utf8.count == 16,
      let high = UInt64(parts[1].prefix(16), radix: 16),
      let low = UInt64(parts[1].suffix(16), radix: 16), let span = UInt64(parts[2], radix: 16),
      let flags = UInt8(parts[3], radix: 16), high | low != 0, span != 0
    else { return nil }
    self.init(high: high, low: low, span: span, isSampled: flags & 1 == 1)
  }
}

extension InstrumentationContext {
  /// The context of all new traces that are sampled out: made once, since most traces are.
  fileprivate static let sampledOut = {
    var context = InstrumentationContext.topLevel
    context[TraceKey.self] = .sampledOut
    return context
  }()
}

private enum TraceKey: InstrumentationContextKey { typealias Value = Trace }

/// The generator SplitMix64, because the system's takes a system call for each number.
private final class RandomNumbers: Sendable {
  private let state = Atomic(UInt64.random(in: 0...(.max)))

  /// A number that is not zero, and comes once.
  func next() -> UInt64 {
    var number = state.wrappingAdd(0x9E37_79B9_7F4A_7C15, ordering: .relaxed).newValue
    number = (number ^ (number >> 30)) &* 0xBF58_476D_1CE4_E5B9
    number = (number ^ (number >> 27)) &* 0x94D0_49BB_1331_11EB
    number ^= number >> 31
    return number == 0 ? next() : number
  }

  /// A number from 0 to 1, without 1.
  var share: Double { Double(next() >> 11) / Double(1 << 53) }
}

// MARK: Writing

/// The fields of a recorded span.
private final class SpanRecord: Sendable {
  struct State {
    var name: String
    var attributes: SpanAttributes = [:]
    var status: SpanStatus?
    var events: [SpanEvent] = []
    var end: UInt64?
  }

  let trace: Trace
  let parent: UInt64?
  let kind: SpanKind
  let begin: UInt64
  let state: Mutex<State>
  private let writer: SpanWriter

  init(
    _ name: String, _ trace: Trace, parent: UInt64?, _ kind: SpanKind, begin: UInt64,
    for writer: SpanWriter
  ) {
    (self.trace, self.parent, self.kind, self.begin) = (trace, parent, kind, begin)
    self.writer = writer
    state = Mutex(State(name: name))
  }

  var isRecording: Bool { state.withLock { $0.end == nil } }

  func end(at time: UInt64) {
    let isFirst = state.withLock { state in
      defer { state.end = state.end ?? time }
      return state.end == nil
    }
    if isFirst { writer.write(self) }
  }
}

/// Appends spans to a file, on a queue of its own.
private final class SpanWriter: Sendable {
  let dropped = Atomic(0)
  private let file: FileHandle
  private let capacity: Int
  private let waiting = Atomic(0)
  private let queue = DispatchQueue(label: "DispatchStoreServer.spans")

  init(_ file: URL, capacity: Int) throws {
    // The system appends, since another process may write to the same file: an old shop that ends beside a new one.
    let descriptor = open(file.path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    self.file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    self.capacity = capacity
  }

  func write(_ span: SpanRecord) {
    guard waiting.add(1, ordering: .relaxed).newValue <= capacity else {
      waiting.subtract(1, ordering: .relaxed)
      dropped.add(1, ordering: .relaxed)
      return
    }
    queue.async {
      self.waiting.subtract(1, ordering: .relaxed)
      do {
        try self.file.write(contentsOf: span.line + Data("\n".utf8))
      } catch {
        self.dropped.add(1, ordering: .relaxed)
      }
    }
  }

  func flush() { queue.sync {} }
}

extension SpanRecord {
  /// The span in OTLP's JSON form, in which 64-bit numbers are strings.
  fileprivate var line: Data {
    get throws {
      let state = state.withLock { $0 }
      let kinds: [SpanKind] = [.internal, .server, .client, .producer, .consumer]
      var fields: [String: Any] = [
        "traceId": trace.id, "spanId": Trace.hex(trace.span), "name": state.name,
        "kind": 1 + kinds.firstIndex(of: kind)!, "startTimeUnixNano": "\(begin)",
        "endTimeUnixNano": "\(state.end ?? begin)", "attributes": Self.list(state.attributes),
      ]
      fields["parentSpanId"] = parent.map(Trace.hex)
      fields["events"] = state.events.map {
        [
          "name": $0.name, "timeUnixNano": "\($0.nanosecondsSinceEpoch)",
          "attributes": Self.list($0.attributes),
        ] as [String: Any]
      }
      fields["status"] = state.status.map {
        ["code": $0.code == .ok ? 1 : 2, "message": $0.message ?? ""] as [String: Any]
      }
      return try JSONSerialization.data(withJSONObject: fields, options: .sortedKeys)
    }
  }

  private static func list(_ attributes: SpanAttributes) -> [[String: Any]] {
    var list: [[String: Any]] = []
    attributes.forEach { key, attribute in
      let value: [String: Any] =
        switch attribute {
        case .int32(let value): ["intValue": "\(value)"]
        case .int64(let value): ["intValue": "\(value)"]
        case .double(let value) where value.isFinite: ["doubleValue": value]
        case .bool(let value): ["boolValue": value]
        case .string(let value): ["stringValue": value]
        case .stringConvertible(let value): ["stringValue": "\(value)"]
        default: ["stringValue": "\(attribute)"]
        }
      list.append(["key": key, "value": value])
    }
    return list
  }
}
