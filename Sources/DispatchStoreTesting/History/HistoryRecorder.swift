import Synchronization

/// Records what processes call at the same time, and what they get, for a history check.
///
/// Calls and returns are stamped by one atomic counter, as close to the operation as can be: logical
/// time, no clock is read. May be used from any thread, and takes no lock, so that it hardly changes
/// how the threads meet; the counter does order them, so that Thread Sanitizer sees fewer races than it
/// would without the recorder. An operation costs one allocation, kept until the recorder goes.
///
/// ```swift
/// let value = recorder.record(.read, on: "thread 1") { .value(register.load()) }
/// ```
public final class HistoryRecorder<Operation: Sendable, Response: Equatable & Sendable>: Sendable {
  typealias Entry = HistoryEntry<Operation, Response>

  private let clock = Atomic(0)
  // The list of all entries. It only grows, so that pushing needs no more than an exchange of its head.
  private let newest = Atomic<Unmanaged<Entry>?>(nil)

  /// Makes a recorder of an empty history.
  public init() {}

  deinit {
    var next = newest.load(ordering: .acquiring)
    while let entry = next {
      next = entry.takeUnretainedValue().older
      entry.release()
    }
  }

  /// Runs an operation, and records its call and what it returned.
  ///
  /// Where the body throws, or never returns, the operation stays pending: it may or may not have taken
  /// effect.
  ///
  /// - Parameters:
  ///   - operation: What is asked.
  ///   - process: Who asks: a thread, a task, a client.
  ///   - body: Asks, and returns the response.
  @discardableResult
  public func record<Failure: Error>(
    _ operation: Operation, on process: String, _ body: () throws(Failure) -> Response
  ) throws(Failure) -> Response {
    let call = begin(operation, on: process)
    let response = try body()
    call.returned(response)
    return response
  }

  /// Runs an operation that suspends, and records its call and what it returned.
  ///
  /// Where the body throws, or never returns, the operation stays pending: it may or may not have taken
  /// effect.
  ///
  /// - Parameters:
  ///   - operation: What is asked.
  ///   - process: Who asks: a thread, a task, a client.
  ///   - isolation: The actor on which the body runs: the caller's.
  ///   - body: Asks, and returns the response.
  @discardableResult
  public func record<Failure: Error>(
    _ operation: Operation, on process: String, isolation: isolated (any Actor)? = #isolation,
    _ body: () async throws(Failure) -> Response
  ) async throws(Failure) -> Response {
    let call = begin(operation, on: process)
    let response = try await body()
    call.returned(response)
    return response
  }

  /// Records a call whose return is told later, by any thread.
  public func begin(
    _ operation: Operation, on process: String
  ) -> RecordedCall<Operation, Response> {
    let entry = Entry(operation, process)
    let pushed = Unmanaged.passRetained(entry)
    var head = newest.load(ordering: .relaxed)
    repeat {
      entry.older = head
      let (exchanged, original) = newest.weakCompareExchange(
        expected: head, desired: pushed, ordering: .releasing)
      if exchanged { break }
      head = original
    } while true
    // The stamp comes last, so that what it took to push does not count as part of the operation.
    entry.begin(at: tick())
    return RecordedCall(recorder: self, entry: entry)
  }

  /// What has been recorded so far; what has not returned is pending.
  ///
  /// Linear in the operations, plus their sorting. While operations run, one that is called meanwhile
  /// may be missing: a history that is to be checked is read when all have returned or been given up.
  public var history: History<Operation, Response> {
    var operations: [RecordedOperation<Operation, Response>] = []
    var next = newest.load(ordering: .acquiring)
    while let entry = next?.takeUnretainedValue() {
      if let operation = entry.recorded { operations.append(operation) }
      next = entry.older
    }
    return History(operations)
  }

  /// The next stamp.
  func tick() -> Int {
    // Acquires and releases, so that an operation that returned at an earlier stamp than another one
    // was called at has really ended before that one begins, on whatever processor.
    clock.add(1, ordering: .acquiringAndReleasing).newValue
  }
}
