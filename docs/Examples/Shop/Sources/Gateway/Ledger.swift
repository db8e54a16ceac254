import Foundation

/// A line of the ledger.
struct Entry: Codable, Sendable {
  enum Kind: String, Codable { case charge, refund }

  var kind: Kind, key: String, order: Int, amount: Int, receipt: String
}

/// The bank's book: in memory by key, and in a file that is synced before an entry counts.
actor Ledger {
  private var entries: [Entry] = []
  private var byKey: [String: Int] = [:]  // index in `entries`
  private var charges: [String: Int] = [:]  // amount by receipt

  private let file: FileHandle
  private let disk = DispatchQueue(label: "ledger")  // `fsync` blocks; here it blocks no task
  private var waiting: [CheckedContinuation<Void, Never>] = []
  private var written = 0  // entries
  private var isWriting = false

  init(path: String) throws {
    if !FileManager.default.fileExists(atPath: path) { try Data().write(to: URL(filePath: path)) }
    file = try FileHandle(forUpdating: URL(filePath: path))
    let data = try file.readToEnd() ?? Data()
    // A crash can leave half a line at the end. Its entry was never acknowledged.
    let end = data.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
    try file.truncate(atOffset: UInt64(end))
    for line in data[..<end].split(separator: UInt8(ascii: "\n")) {
      let entry = try JSONDecoder().decode(Entry.self, from: line)
      byKey[entry.key] = entries.count
      charges[entry.receipt] = entry.amount
      entries.append(entry)
    }
    written = entries.count
  }

  /// The amount that was charged with this receipt.
  func amount(of receipt: String) -> Int? { charges[receipt] }

  /// Books an entry, or finds the first one with its key.
  ///
  /// It is on disk then.
  func book(
    _ kind: Entry.Kind, key: String, order: Int, amount: Int, receipt: String
  ) async -> Entry {
    let index = byKey[key] ?? entries.count
    if index == entries.count {
      byKey[key] = index
      charges[receipt] = amount
      entries.append(Entry(kind: kind, key: key, order: order, amount: amount, receipt: receipt))
    }
    await sync()
    return entries[index]
  }

  /// All entries on disk, one line of JSON for each.
  func lines() async throws -> Data {
    await sync()
    return try Self.lines(entries[..<written])
  }

  /// Returns when all entries until now are on disk.
  ///
  /// One `fsync` serves all who wait.
  private func sync() async {
    guard written < entries.count else { return }
    await withCheckedContinuation { continuation in
      waiting.append(continuation)
      if !isWriting { Task { await writeAll() } }
      isWriting = true
    }
  }

  private func writeAll() async {
    while !waiting.isEmpty {
      let (group, end) = (waiting, entries.count)
      waiting = []
      let unwritten = entries[written..<end]
      await withCheckedContinuation { done in
        disk.async { [file] in
          do {
            try file.write(contentsOf: Self.lines(unwritten))
            try file.synchronize()
          } catch { fatalError("The ledger can't be written: \(error). Free the disk.") }
          done.resume()
        }
      }
      written = end
      for continuation in group { continuation.resume() }
    }
    isWriting = false
  }

  private static func lines(_ entries: ArraySlice<Entry>) throws -> Data {
    try entries.reduce(into: Data()) { try $0 += JSONEncoder().encode($1) + [UInt8(ascii: "\n")] }
  }
}
