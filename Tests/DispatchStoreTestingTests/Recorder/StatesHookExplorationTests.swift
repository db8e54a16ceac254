import DispatchStore
import DispatchStoreTesting
import Foundation
import Testing

/// Hooks with states in simulated worlds, with commits of several actions in between.
@Suite(.timeLimit(.minutes(10)))
struct StatesHookExplorationTests {
  private struct Append: ActionType {
    let number: Int
    let isSuspending: Bool
  }

  private final class AppendingReducer: Reducer<[Int], Append> {
    override func operation(
      for action: Append, in store: Store<[Int], Append>
    ) -> ActionOperation<[Int], Append> {
      guard action.isSuspending else {
        return ActionOperation(action: action, store: store) { action, store in
          for part in 0..<2 { store.updateModel { $0.append(action.number + part) } }
        }
      }
      return ActionOperation(action: action, store: store) { action, store in
        for part in 0..<3 {
          store.updateModel { $0.append(action.number + part) }
          await Task.yield()
        }
      }
    }
  }

  private struct Wrong: Error, CustomStringConvertible { let description: String }

  private final class Commits: @unchecked Sendable {  // because the lock guards `all`
    private let lock = NSLock()
    private var all: [Change<[Int], Append>] = []

    func add(_ change: Change<[Int], Append>) { lock.withLock { all.append(change) } }
    var now: [Change<[Int], Append>] { lock.withLock { all } }
  }

  /// The models are those before the action's first and after its last commit, as observers saw them.
  @Test func statesAreAroundTheCommitsOfTheirActionInEverySchedule() async throws {
    try await explore(seeds: 0..<200) { dispatcher in
      let store = dispatcher.register(
        store: Store(identifier: "list", model: [], reducer: AppendingReducer()))
      let recorder = StateRecorder<[Int], Append>()
      dispatcher.register(recorder.hook)
      let commits = Commits()
      let token = store.observe(.model) { commits.add($0) }
      await withTaskGroup { group in
        for number in 1...3 {
          group.addTask {
            let action = Append(number: 10 * number, isSuspending: number > 1)
            _ = await store.dispatch(action, mode: number == 3 ? .serial : .async).result
          }
        }
        group.addTask { store.updateModel { $0.append(1) } }
      }
      token.cancel()
      let models = [[]] + commits.now.map(\.value)
      for entry in recorder.entries {
        let own = commits.now.filter { $0.dispatchID == entry.run.dispatch.id }
        let versions = (entry.oldVersion, entry.newVersion)
        guard versions == (own[0].version - 1, own[own.count - 1].version),
          entry.commitCount == own.count,
          entry.oldModel == models[Int(versions.0)],
          entry.newModel == models[Int(versions.1)]
        else { throw Wrong(description: "\(entry.action): \(versions)") }
      }
      if recorder.entries.count != 3 { throw Wrong(description: "some are missing") }
    }
  }
}
