import Foundation
import Testing

@testable import DispatchStoreTesting

@Suite("A reported failure", .serialized)
struct FailureReportingTests {
  #if os(Linux)
    @Test func failsTheTestUnderSwiftTesting() async throws {
      let run = try await TestProcess.run([
        "--testing-library", "swift-testing", "--filter", "failureProbe",
      ])
      #expect(run.failed)
      #expect(run.output.contains("failureProbe() recorded an issue at Probe.swift:41:7"))
      #expect(run.output.contains("↳ in the test\n"))
      #expect(run.output.contains("«unknown» recorded an issue at Probe.swift:41:7"))
      #expect(run.output.contains("↳ on a thread\n"))
      #expect(run.output.contains("failureProbe() recorded a warning at Probe.swift:41:7"))
    }

    @Test func failsTheTestUnderXCTest() async throws {
      let run = try await TestProcess.run(["DispatchStoreTestingTests.FailureProbeCase/testProbe"])
      #expect(run.failed)
      for message in ["in the test", "on a thread"] {
        #expect(
          run.output.contains(
            "/Probe/Probe.swift:41: error: FailureProbeCase.testProbe : failed - \(message)\n"))
        #expect(run.output.contains("/Probe/Probe.swift:41: note: note of \(message)\n"))
      }
    }

    /// Under another name the same process counts as a program.
    @Test func isWrittenToStandardErrorInAProgram() async throws {
      let run = try await TestProcess.run(
        ["DispatchStoreTestingTests.FailureProbeCase/testProbe"], isProgram: true)
      #expect(!run.failed)
      #expect(run.output.contains("/Probe/Probe.swift:41: error: in the test\n"))
      #expect(run.output.contains("/Probe/Probe.swift:41: error: on a thread\n"))
      #expect(run.output.contains("/Probe/Probe.swift:41: note: note of on a thread\n"))
    }
  #endif

  @Test(arguments: [
    (["/b/Package.xctest", "--testing-library", "swift-testing"], TestFramework.swiftTesting),
    (["/b/Package.xctest", "--testing-library=swift-testing"], .swiftTesting),
    (["/b/Package.xctest", "--testing-library", "xctest"], .xctest),
    (["/b/Package.xctest", "Module.Case/test"], .xctest), (["/usr/bin/xctest", "a"], .xctest),
    (["/b/program", "swift-testing"], .none), ([], .none),
  ])
  func goesToTheFrameworkThatTheArgumentsName(arguments: [String], framework: TestFramework) {
    #expect(TestFramework(arguments: arguments) == framework)
  }

  @Test func isCaughtByTheInnermostHandler() async {
    let (outer, inner) = (CaughtFailures(), CaughtFailures())
    await withFailureHandler({ outer.add($0) }) {
      FailureReporter().report("1", at: FailureProbe.place)
      await withFailureHandler({ inner.add($0) }) {
        FailureReporter().report("2", at: FailureProbe.place)
      }
      await Task { FailureReporter().report("3", at: FailureProbe.place) }.value
    }
    #expect(outer.messages == ["1", "3"])
    #expect(inner.messages == ["2"])
  }

  @Test func isCaughtFromAThreadByTheHandlerOfWhereTheReporterWasMade() async {
    let caught = CaughtFailures()
    let reporter = await withFailureHandler({ caught.add($0) }) { FailureReporter() }
    await withUnsafeContinuation { continuation in
      Thread.detachNewThread {
        reporter.report("on a thread", at: FailureProbe.place)
        continuation.resume()
      }
    }
    #expect(caught.messages == ["on a thread"])
  }
}
