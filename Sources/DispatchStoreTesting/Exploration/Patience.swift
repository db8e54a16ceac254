import Foundation

/// Says once on standard error where a simulation does not go on: its program blocks the one thread that runs.
struct Patience {
  private static let limit = Duration.seconds(20)
  private var count = -1
  private var since = ContinuousClock.now
  private var hasSpoken = false

  mutating func look(at search: SeedSearch) {
    let present = search.count
    if present != count { (count, since) = (present, .now) }
    guard !hasSpoken, .now - since > Self.limit else { return }
    hasSpoken = true
    let seeds = search.underWay.map(String.init).joined(separator: " and ")
    let line = """
      explore: nothing has ended for \(Self.limit) with seed \(seeds). Does the program block its thread, \
      such as by a lock of its own that is held over a call of the library?

      """
    try? FileHandle.standardError.write(contentsOf: Data(line.utf8))
  }
}
