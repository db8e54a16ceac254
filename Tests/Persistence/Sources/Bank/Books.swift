import DispatchStore

/// What an account holds: each entry is the number of one posting, so that the audit sees which are saved.
struct Account: Codable, Sendable, Equatable {
  var balance = 0
  var entries: [Int] = []
}

/// A store's model.
protocol Books: ModelType, Codable {
  /// The number of its commits, which is the store's version.
  var commits: Int { get set }
  var accounts: [Int: Account] { get }
  mutating func post(_ entry: Int, _ amount: Int, to key: Int)
  /// Removes an account; another one takes its balance and entries over.
  mutating func close(_ key: Int, into heir: Int)
  /// Assigns its dictionaries as a whole, with the same elements.
  mutating func assignWhole()
}

/// A row for each account.
struct Giro: Books {
  var commits = 0
  var all = TrackedDictionary<Int, Account>()

  var accounts: [Int: Account] { all.dictionary }

  mutating func post(_ entry: Int, _ amount: Int, to key: Int) {
    all[key, default: Account()].balance += amount
    all[key]?.entries.append(entry)
  }

  mutating func close(_ key: Int, into heir: Int) {
    guard key != heir, let gone = all.removeValue(forKey: key) else { return }
    all[heir, default: Account()].balance += gone.balance
    all[heir]?.entries += gone.entries
  }

  mutating func assignWhole() {
    // A copy with other changes, and then the original again.
    let copy = all
    all[-1] = Account()
    all = copy
    all = TrackedDictionary(all.dictionary)
  }
}

/// One row for all.
struct Till: Books {
  var commits = 0
  var accounts: [Int: Account] = [:]

  mutating func post(_ entry: Int, _ amount: Int, to key: Int) {
    accounts[key, default: Account()].balance += amount
    accounts[key]?.entries.append(entry)
  }

  mutating func close(_ key: Int, into heir: Int) {
    guard key != heir, let gone = accounts.removeValue(forKey: key) else { return }
    accounts[heir, default: Account()].balance += gone.balance
    accounts[heir]?.entries += gone.entries
  }

  mutating func assignWhole() {}
}

/// A row for each balance, and one for each entry.
struct Ledger: Books {
  var commits = 0
  var balances = TrackedDictionary<Int, Int>()
  var entries = TrackedDictionary<Int, Int>()

  var accounts: [Int: Account] {
    var accounts = balances.dictionary.mapValues { Account(balance: $0) }
    for (entry, key) in entries.dictionary {
      accounts[key, default: Account()].entries.append(entry)
    }
    return accounts
  }

  mutating func post(_ entry: Int, _ amount: Int, to key: Int) {
    balances[key, default: 0] += amount
    entries[entry] = key
  }

  mutating func close(_ key: Int, into heir: Int) {
    guard key != heir, let balance = balances.removeValue(forKey: key) else { return }
    balances[heir, default: 0] += balance
    for (entry, owner) in entries.dictionary where owner == key { entries[entry] = heir }
  }

  mutating func assignWhole() {
    balances = TrackedDictionary(balances.dictionary)
    entries = TrackedDictionary(entries.dictionary)
  }
}
