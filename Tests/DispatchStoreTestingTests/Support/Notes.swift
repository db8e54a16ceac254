import DispatchStore

/// A model that records the numbers of its actions, in order.
struct Notes: ModelType, Hashable {
  var numbers: [Int] = []
}

enum Note: ActionType, Hashable {
  case add(Int)
}

final class NotesReducer: Reducer<Notes, Note> {
  override func reduce(into model: inout Notes, action: Note) {
    switch action {
    case .add(let number): model.numbers.append(number)
    }
  }
}

extension Dispatcher {
  func makeNotes(_ identifier: String) -> Store<Notes, Note> {
    register(store: Store(identifier: identifier, reducer: NotesReducer()))
  }
}
