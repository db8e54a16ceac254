import DispatchStore

typealias AuthorsStore = Store<AuthorsModel, HistoryAction>

/// Keeps what each author does.
///
/// Whether a change takes a path over from somebody is a question to `files`, once that has taken the
/// change in: the store waits for `files`. It is asked before the update, because inside an update a
/// store sees its own model only.
final class AuthorsReducer: Reducer<AuthorsModel, HistoryAction> {
  private let files: FilesStore

  init(files: FilesStore) {
    self.files = files
  }

  override func apply(_ action: HistoryAction, to store: AuthorsStore) throws {
    switch action {
    case let action as Changed:
      let isTakeover = files.withModel { $0.isTakeover(action.change) }
      store.updateModel { $0.take(action.change, isTakeover: isTakeover) }
    case let action as Committed:
      store.updateModel { $0.take(action.commit) }
    default:
      throw UnknownAction(type: type(of: action))
    }
  }

  /// That an action was added, and not told what it does to authors.
  private struct UnknownAction: Error {
    let type: HistoryAction.Type
  }
}
