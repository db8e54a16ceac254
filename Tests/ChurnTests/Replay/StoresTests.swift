import DispatchStore
import Testing

@testable import churn

/// The stores, and which of them take part in which action.
@Suite(.timeLimit(.minutes(10))) struct StoresTests {
  private func record(_ mode: churn.Mode) async throws -> PartsRecorder {
    let recorder = PartsRecorder()
    let batches = try TestLog.contested(commits: 60).batches()
    let replay = DispatchedReplay(
      mode: mode, inFlight: 64, producers: 2, hooks: [Hook(recorder)])
    _ = try await onOwnThread { try replay.replay(batches) }
    return recorder
  }

  @Test(arguments: churn.Mode.allCases)
  func aStoreTakesPartOnlyInWhatConcernsIt(mode: churn.Mode) async throws {
    let parts = try await record(mode).begun

    let stores = Dictionary(grouping: parts, by: \.dispatchID).values
    for parts in stores {
      let expected = parts[0].isChange ? ["files", "authors", "folders"] : ["authors", "days"]
      #expect(Set(parts.map(\.store)) == Set(expected))
      #expect(parts.count == expected.count)
    }
  }

  @Test(arguments: churn.Mode.allCases)
  func authorsIsNotAskedBeforeFilesHasTakenTheChangeIn(mode: churn.Mode) async throws {
    var hasTakenIn: Set<DispatchID> = []
    for part in try await record(mode).ended where part.isChange {
      if part.store == "files" { hasTakenIn.insert(part.dispatchID) }
      if part.store == "authors" { #expect(hasTakenIn.contains(part.dispatchID)) }
    }
    #expect(!hasTakenIn.isEmpty)
  }
}
