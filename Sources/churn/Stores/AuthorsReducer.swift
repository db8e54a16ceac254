import DispatchStore

typealias AuthorsStore = Store<AuthorsModel, HistoryAction>

/// Counts the changes and commits of each author.
///
/// Whether a change takes a path over is read from `files` after that store has applied the change, so this
/// store waits for `files`. It is read before the update, because no other store may be read inside one.
final class AuthorsReducer: Reducer<AuthorsModel, HistoryAction> {
  private let files: FilesStore

  init(files: FilesStore) {
    self.files = files
  }

  override func apply(_ action: HistoryAction, to store: AuthorsStore) throws {
    switch action {
    case let action as Changed:
      let isTakeover = files.withModel { $0.isTakeover(action.change) }
      store.updateModel {
        if $0.begins(action.number) { $0.take(action.change, isTakeover: isTakeover) }
      }
    case let action as Committed:
      store.updateModel {
        if $0.begins(action.number, endOf: action.commit.hash) { $0.take(action.commit) }
      }
    default:
      throw UnknownAction(type: type(of: action))
    }
  }

  /// An action type that this reducer does not handle.
  private struct UnknownAction: Error {
    let type: HistoryAction.Type
  }
}
