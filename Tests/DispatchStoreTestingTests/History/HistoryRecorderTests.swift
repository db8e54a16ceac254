import DispatchStoreTesting
import Synchronization
import Testing

@Suite("Histories: recorder")
struct HistoryRecorderTests {
  private struct Broken: Error {}

  @Test func operationsAreInTheOrderOfTheirCalls() {
    let history = RegisterHistory.history("b w1", "a r", "a 1", "b ok", "a r")
    #expect(
      history.description == """
        #1 b: write(1) → done
        #2 a: read → 1
        #3 a: read, pending
        """)
    #expect(!history.operations[0].precedes(history.operations[1]))
    #expect(history.operations[0].precedes(history.operations[2]))
  }

  @Test func whatThrowsStaysPending() async {
    let recorder = RegisterHistory()
    #expect(throws: Broken.self) {
      try recorder.record(.write(1), on: "a") { () throws(Broken) in throw Broken() }
    }
    await #expect(throws: Broken.self) {
      try await recorder.record(.write(2), on: "b") { () async throws(Broken) in
        await Task.yield()
        throw Broken()
      }
    }
    #expect(recorder.history.operations.allSatisfy { $0.returned == nil })
    #expect(recorder.history.operations.count == 2)
  }

  @Test func whatSuspendsIsRecordedToo() async {
    let recorder = RegisterHistory()
    let response = await recorder.record(.read, on: "a") {
      await Task.yield()
      return .value(0)
    }
    #expect(response == .value(0))
    #expect(recorder.history.operations.map(\.returned?.response) == [.value(0)])
  }

  @Test func whatIsWithdrawnIsLeftOut() {
    let recorder = RegisterHistory()
    recorder.begin(.write(1), on: "a").withdraw()
    #expect(recorder.history.operations.isEmpty)
  }

  @Test func aSecondReturnStopsTheProgramAndNamesTheOperation() async throws {
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      let call = RegisterHistory().begin(.write(7), on: "ann")
      call.returned(.done)
      call.returned(.done)
    }
    let written = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
    #expect(written.contains("The end of write(7) on ann was recorded twice."))
  }

  /// An atomic register, used by eight threads: no operation is lost, and the stamps give the order.
  @Test(.timeLimit(.minutes(10)))
  func everyOperationOfEightThreadsIsKept() async {
    let recorder = RegisterHistory()
    let register = AtomicRegister()
    await HistoryProcesses.run(8) { process in
      let number = Int(process.dropFirst())!
      for round in 0..<40 {
        if (round + number) % 2 == 0 {
          recorder.record(.write(number * 100 + round), on: process) {
            register.value.store(number * 100 + round, ordering: .sequentiallyConsistent)
            return .done
          }
        } else {
          recorder.record(.read, on: process) {
            .value(register.value.load(ordering: .sequentiallyConsistent))
          }
        }
      }
    }
    let history = recorder.history
    #expect(history.operations.count == 320)
    #expect(history.operations.map(\.number) == Array(1...320))
    for process in 0..<8 {
      let own = history.operations.filter { $0.process == "p\(process)" }
      #expect(zip(own, own.dropFirst()).allSatisfy { $0.precedes($1) })
    }
    let verdict = history.check(against: Register())
    #expect(verdict.isLinearizable, "\(verdict)")
  }

  private final class AtomicRegister: Sendable {
    let value = Atomic(0)
  }
}
