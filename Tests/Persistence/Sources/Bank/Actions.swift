import DispatchStore

// Each operation has an id, and entry number `id * 4 + n` for its n-th posting. The reply is the version of its commit.

struct Post: ActionType {
  typealias Reply = Int
  let id: Int, key: Int, amount: Int
}

/// Goes to all stores.
struct PostAll: ActionType {
  typealias Reply = Int
  let id: Int, key: Int, amount: Int
}

/// Goes to all stores, of which all have it or none; the last one may refuse it.
struct PostEverywhere: AtomicAction {
  typealias Reply = Int
  let id: Int, key: Int, amount: Int
  var isRefused = false
}

struct Transfer: ActionType {
  typealias Reply = Int
  let id: Int, from: Int, to: Int, amount: Int
}

/// Three postings, each a commit of its own.
struct Instalments: ActionType {
  typealias Reply = Int
  let id: Int, key: Int, amount: Int
}

struct CloseAccount: ActionType {
  typealias Reply = Int
  let id: Int, key: Int, heir: Int
}

/// Closes an account, in dictionaries that are assigned as a whole.
struct Reorganise: ActionType {
  typealias Reply = Int
  let id: Int, key: Int, heir: Int
}

struct Refuse: ActionType { let id: Int }
struct Refused: Error {}

typealias BankStore<Model: Books> = Store<Model, HandledAction>

func makeStore<Model: Books>(_ identifier: String, _ model: Model) -> BankStore<Model> {
  Store(identifier: identifier, model: model) {
    On(Post.self) { books, action in
      books.commit { $0.post(action.id * 4, action.amount, to: action.key) }
    }
    On(PostAll.self) { books, action in
      books.commit { $0.post(action.id * 4, action.amount, to: action.key) }
    }
    On(PostEverywhere.self) { books, action in
      let version = books.commit { $0.post(action.id * 4, action.amount, to: action.key) }
      if action.isRefused, identifier == Bank.storeNames.last { throw Refused() }
      return version
    }
    On(Transfer.self) { books, action in
      books.commit {
        $0.post(action.id * 4, -action.amount, to: action.from)
        $0.post(action.id * 4 + 1, action.amount, to: action.to)
      }
    }
    On(CloseAccount.self) { books, action in
      books.commit {
        $0.close(action.key, into: action.heir)
        $0.post(action.id * 4, 0, to: action.heir)
      }
    }
    On(Reorganise.self) { books, action in
      books.commit {
        $0.assignWhole()
        $0.close(action.key, into: action.heir)
        $0.post(action.id * 4, 0, to: action.heir)
      }
    }
    Perform(Instalments.self) { action, context in
      var version = 0
      for part in 0..<3 {
        version = try context.updateModel { books in
          books.commit { $0.post(action.id * 4 + part, action.amount, to: action.key) }
        }
        await Task.yield()
      }
      return version
    }
    Perform(Refuse.self) { _, _ in throw Refused() }
  }
}

extension Books {
  /// Counts the commit; returns the version that the store has after it.
  mutating func commit(_ body: (inout Self) -> Void) -> Int {
    body(&self)
    commits += 1
    return commits
  }
}
