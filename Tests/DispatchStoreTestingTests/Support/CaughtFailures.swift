import DispatchStoreTesting
import Foundation

/// The failures and notes that a test has caught.
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

/// The failures and notes in a closure.
nonisolated(nonsending) func failures(
  _ body: nonisolated(nonsending) () async throws -> Void
) async rethrows -> CaughtFailures {
  let caught = CaughtFailures()
  try await withFailureHandler({ caught.add($0) }, body)
  return caught
}
