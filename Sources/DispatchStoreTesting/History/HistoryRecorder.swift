import Synchronization

/// Records the concurrent calls of processes, and their responses, for a history check.
///
/// ```swift
/// let value = recorder.record(.read, on: "thread 1") { .value(register.load()) }
/// ```
///
/// The recorder stamps calls and returns with one atomic counter, as close to the operation as possible, and reads no
/// clock. You can use it from any thread. It takes no lock, so it hardly changes how the threads interleave. The
/// counter does order the threads, so Thread Sanitizer sees fewer races than without the recorder. An operation costs
/// one allocation, freed with the recorder.
public final class HistoryRecorder<Operation: Sendable, Response: Equatable & Sendable>: Sendable {
  typealias Entry = HistoryEntry<Operation, Response>

  private let clock = Atomic(0)
  // The list of all entries. It only grows, so a push needs no more than an exchange of the head.
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

  /// Runs an operation, and records its call and its response.
  ///
  /// If the body throws, or never returns, the operation stays pending: it may or may not have taken effect.
  ///
  /// - Parameters:
  ///   - operation: The operation, with its arguments.
  ///   - process: The process that calls: a thread, a task, a client.
  ///   - body: Runs the operation, and returns the response.
  @discardableResult
  public func record<Failure: Error>(
    _ operation: Operation, on process: String, _ body: () throws(Failure) -> Response
  ) throws(Failure) -> Response {
    let call = begin(operation, on: process)
    let response = try body()
    call.returned(response)
    return response
  }

  /// Runs an operation that suspends, and records its call and its response.
  ///
  /// If the body throws, or never returns, the operation stays pending: it may or may not have taken effect.
  ///
  /// - Parameters:
  ///   - operation: The operation, with its arguments.
  ///   - process: The process that calls: a thread, a task, a client.
  ///   - isolation: The actor on which the body runs: the caller's.
  ///   - body: Runs the operation, and returns the response.
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

  /// Records a call whose return any thread records later.
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
    // Stamped last, so that the time for the push is not part of the operation.
    entry.begin(at: tick())
    return RecordedCall(recorder: self, entry: entry)
  }

  /// The operations recorded so far.
  ///
  /// Operations that have not returned are pending.
  ///
  /// Takes time for one pass and a sort. Operations that are called meanwhile may be missing. Before a check, read
  /// the history once all operations have returned or been given up.
  public var history: History<Operation, Response> {
    var operations: [RecordedOperation<Operation, Response>] = []
    var next = newest.load(ordering: .acquiring)
    while let entry = next?.takeUnretainedValue() {
      if let operation = entry.recorded { operations.append(operation) }
      next = entry.older
    }
    return History(operations)
  }

  /// Returns the next stamp.
  func tick() -> Int {
    // Acquires and releases, so that stamps imply order on every processor. An operation that returned at a lower
    // stamp has ended before one with a higher call stamp begins.
    clock.add(1, ordering: .acquiringAndReleasing).newValue
  }
}
