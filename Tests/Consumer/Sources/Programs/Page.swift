import DispatchStore
import Foundation

struct Page: ModelType {
  enum Action: ActionType, Equatable { case load(URL) }
  var text = ""
}

/// Ends its operation from a callback.
final class CallbackPageReducer: Reducer<Page, Page.Action> {
  override func operation(
    for action: Page.Action, in store: Store<Page, Page.Action>
  ) -> ActionOperation<Page, Page.Action> {
    ActionOperation(action: action, store: store) { operation, action, _ in
      guard case .load(let url) = action else { return operation.finish() }
      fetch(url) { text in
        operation.updateModel { $0.text = text }
        operation.finish()
      }
    }
  }
}

/// Does the same in an `async` block.
final class AsyncPageReducer: Reducer<Page, Page.Action> {
  override func operation(
    for action: Page.Action, in store: Store<Page, Page.Action>
  ) -> ActionOperation<Page, Page.Action> {
    ActionOperation(action: action, store: store) { action, store in
      guard case .load(let url) = action else { return }
      let text = await fetch(url)
      store.updateModel { $0.text = text }
    }
  }
}

/// Stands in for a client that calls back on another thread.
private func fetch(_ url: URL, then completion: @escaping @Sendable (String) -> Void) {
  DispatchQueue.global().async { completion("text of \(url.absoluteString)") }
}

private func fetch(_ url: URL) async -> String {
  await withCheckedContinuation { continuation in
    fetch(url) { continuation.resume(returning: $0) }
  }
}
