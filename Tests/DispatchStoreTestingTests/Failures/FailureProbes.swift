import DispatchStoreTesting
import Foundation
import Testing
import XCTest

/// Failures that the tests of failure reporting run in a separate process; disabled otherwise.
enum FailureProbe {
  static let isEnabled = ProcessInfo.processInfo.environment["DISPATCHSTORE_FAILURE_PROBE"] != nil
  static let place = SourcePlace("Probe/Probe.swift", "/Probe/Probe.swift", 41, 7)

  static func fail(_ message: String) {
    FailureReporter().report(message, at: place)
    FailureReporter().report("note of " + message, severity: .note, at: place)
  }

  /// Fails on a thread, where there is no current test.
  static func failOnAThread(_ message: String) async {
    await withUnsafeContinuation { continuation in
      Thread.detachNewThread {
        fail(message)
        continuation.resume()
      }
    }
  }
}

final class FailureProbeCase: XCTestCase {
  func testProbe() async {
    guard FailureProbe.isEnabled else { return }
    FailureProbe.fail("in the test")
    await FailureProbe.failOnAThread("on a thread")
  }
}

@Test(.enabled(if: FailureProbe.isEnabled)) func failureProbe() async {
  FailureProbe.fail("in the test")
  await FailureProbe.failOnAThread("on a thread")
}

/// Passes, although most of its seeds are not run.
@Test(.enabled(if: FailureProbe.isEnabled)) func cancelledExplorationProbe() async throws {
  let exploration = Task { try await explore(seeds: 0..<1_000_000_000) { _ in } }
  exploration.cancel()
  try await exploration.value
}
