import DispatchStore
import Foundation
import Programs

/// Compares the loaded stores with the journals; returns the number of acknowledged operations, or stops with what is wrong.
func audit(_ bank: Bank, _ records: Records, _ database: String) -> Int {
  var problems: [String] = []
  let rows = projectedRows(database)
  var present: [Int: Set<String>] = [:]
  var whole: [Int: Set<String>] = [:]
  var versions: [String: Int] = [:]

  func check<Model: Books>(_ store: BankStore<Model>) {
    let (name, model, version) = (store.identifier, store.model, Int(store.version))
    versions[name] = version
    if model.commits != version {
      problems.append("\(name): version \(version), but \(model.commits) commits")
    }
    var postings: [Int: Int] = [:]
    for (key, account) in model.accounts {
      var sum = 0
      for entry in account.entries {
        postings[entry / 4, default: 0] += 1
        guard let operation = records.operations[entry / 4] else {
          problems.append("\(name): operation \(entry / 4) was never begun")
          continue
        }
        if !operation.isForAll, operation.store != name {
          problems.append("\(name): has operation \(entry / 4) of \(operation.store)")
        }
        guard entry % 4 < operation.amounts.count else {
          problems.append("\(name): entry \(entry) of a refused operation")
          continue
        }
        sum += operation.amounts[entry % 4]
      }
      if sum != account.balance {
        problems.append("\(name): account \(key) has \(account.balance), and entries for \(sum)")
      }
    }
    for (id, count) in postings {
      present[id, default: []].insert(name)
      if records.refused.contains(id) { problems.append("\(name): operation \(id) was refused") }
      guard let operation = records.operations[id] else { continue }
      if count == operation.amounts.count {
        whole[id, default: []].insert(name)
      } else if operation.kind != .instalments || count > 3 {
        problems.append("\(name): operation \(id) has \(count) postings")
      }
    }
    let projected = rows[name] ?? [:]
    let balances = model.accounts.mapValues(\.balance)
    if projected.mapValues(\.balance) != balances {
      problems.append("\(name): projected \(projected), and in the store \(balances)")
    }
    if let newest = projected.values.map(\.version).max(), newest > version {
      problems.append("\(name): projected version \(newest) of \(version)")
    }
  }
  check(bank.giro)
  check(bank.savings)
  check(bank.till)
  check(bank.ledger)

  for (id, store, version) in records.acknowledged {
    if whole[id]?.contains(store) != true {
      problems.append("\(store): operation \(id) was acknowledged, and is lost")
    }
    if versions[store]! < version {
      problems.append("\(store): version \(versions[store]!), and \(version) was acknowledged")
    }
  }
  for operation in records.operations.values where operation.kind == .everywhere {
    let stores = whole[operation.id, default: []]
    if !stores.isEmpty, stores.count < Bank.storeNames.count {
      problems.append("operation \(operation.id) is atomic, and only in \(stores.sorted())")
    }
  }
  // Commits are saved in their order, so that a lane's operations are there up to one of them.
  for lane in records.lanes {
    var gap: Int?
    for operation in lane where !operation.isRefused {
      if let gap, present[operation.id] != nil {
        problems.append("lane \(operation.lane): \(operation.id) is there, and \(gap) is not")
      }
      let stores = operation.isForAll ? Bank.storeNames.count : 1
      if whole[operation.id, default: []].count < stores { gap = gap ?? operation.id }
    }
  }
  if !problems.isEmpty {
    for problem in problems.prefix(20) { say("wrong: \(problem)") }
    exit(4)
  }
  return records.acknowledged.count
}

/// The rows that the projections have written, read as another program reads them.
private func projectedRows(
  _ database: String
) -> [String: [Int: (balance: Int, version: Int)]] {
  var rows: [String: [Int: (balance: Int, version: Int)]] = [:]
  let query = "SELECT store, key, balance, version FROM balances"
  for row in (try? Stranger(database, onlyReads: true).rows(query)) ?? [] {
    rows[row[0], default: [:]][Int(row[1])!] = (Int(row[2])!, Int(row[3])!)
  }
  return rows
}
