import DispatchStoreTesting
import Foundation

/// What failed while a test looked on.
final class CaughtFailures: @unchecked Sendable {  // because `lock` guards what changes
  private let lock = NSLock()
  private var failures: [TestFailure] = []

  var all: [TestFailure] { lock.withLock { failures } }
  var messages: [String] { all.filter { $0.severity == .failure }.map(\.message) }
  var notes: [String] { all.filter { $0.severity == .note }.map(\.message) }
  var lines: [UInt] { all.map(\.place.line) }

  func add(_ failure: TestFailure) {
    lock.withLock { failures.append(failure) }
  }
}

/// What fails in the closure.
nonisolated(nonsending) func failures(
  _ body: nonisolated(nonsending) () async throws -> Void
) async rethrows -> CaughtFailures {
  let caught = CaughtFailures()
  try await withFailureHandler({ caught.add($0) }, body)
  return caught
}
