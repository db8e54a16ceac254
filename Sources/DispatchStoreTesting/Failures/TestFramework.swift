import Foundation

#if canImport(Testing)
  import Testing
#endif
#if canImport(XCTest)
  import XCTest
#endif

/// The test framework that runs this process, and the way to record failures with it.
///
/// Both frameworks are imported, not looked up by mangled names at run time. Both come with the toolchain, the
/// compiler checks each call, and a program that links this module outside of tests still runs. If they can't be
/// imported (with a static standard library), failures go to standard error.
///
/// The library has to detect the running one, because each silently drops failures recorded while the other one runs:
/// `Issue.record` in an XCTest run, and `XCTFail` in a run of Swift Testing. `swift test` starts a process for each,
/// the one for Swift Testing with `--testing-library swift-testing`.
enum TestFramework: Equatable {
  case swiftTesting
  case xctest
  /// No framework: the process is a program.
  case none

  /// The framework that runs here.
  ///
  /// A thread or a detached task has no current test, so the process's arguments decide there. Swift Testing then
  /// shows the failure without the name of the test.
  static var current: TestFramework {
    #if canImport(Testing)
      if Test.current != nil { return .swiftTesting }
    #endif
    return ofProcess
  }

  private static let ofProcess = TestFramework(arguments: ProcessInfo.processInfo.arguments)

  /// Returns the framework that runs a process with these arguments, the first of which is its path.
  init(arguments: [String]) {
    let program = arguments.first.map { URL(fileURLWithPath: $0) }
    let named =
      zip(arguments, arguments.dropFirst()).first { $0.0 == "--testing-library" }?.1
      ?? arguments.last { $0.hasPrefix("--testing-library=") }
    if named?.hasSuffix("swift-testing") == true {
      self = .swiftTesting
    } else if program?.pathExtension == "xctest" || program?.lastPathComponent == "xctest" {
      self = .xctest
    } else {
      self = .none
    }
  }

  func record(_ failure: TestFailure) {
    switch self {
    case .swiftTesting: recordIssue(failure)
    case .xctest: failRunningTest(failure)
    case .none: writeToStandardError(failure)
    }
  }

  private func recordIssue(_ failure: TestFailure) {
    #if canImport(Testing)
      let place = failure.place
      let location = SourceLocation(
        fileID: "\(place.fileID)", filePath: "\(place.filePath)", line: Int(place.line),
        column: Int(place.column))
      Issue.record(
        Comment(rawValue: failure.message),
        severity: failure.severity == .failure ? .error : .warning, sourceLocation: location)
    #else
      writeToStandardError(failure)
    #endif
  }

  private func failRunningTest(_ failure: TestFailure) {
    #if canImport(XCTest)
      guard failure.severity == .failure else { return writeToStandardError(failure) }
      XCTFail(failure.message, file: failure.place.filePath, line: failure.place.line)
    #else
      writeToStandardError(failure)
    #endif
  }

  private func writeToStandardError(_ failure: TestFailure) {
    let kind = failure.severity == .failure ? "error" : "note"
    let text = "\(failure.place.filePath):\(failure.place.line): \(kind): \(failure.message)\n"
    // A closed standard error is no reason to stop.
    try? FileHandle.standardError.write(contentsOf: Data(text.utf8))
  }
}
