import Foundation
import Programs
import Testing

@testable import DispatchStore
@testable import DispatchStorePersistence

private struct Count: ActionType {}

@Suite struct OwnershipTests {
  let folder: Folder

  init() throws { folder = try Folder() }

  @Test func aSecondProcessIsRefusedAndNamesTheFirst() async throws {
    let opened = try Opened(folder.driver())
    let (path, first) = (folder.database, "\(getpid())")
    await #expect(processExitsWith: .success) { [path = path as String, first = first as String] in
      let driver = SQLiteDriver(path: path, settings: SQLiteSettings())
      try expect(.inUse, "process \(first) on host ", path + "-owner") { _ = try driver.open() }
    }
    #expect(try opened.store() == 1)
  }

  @Test func aProcessThatCrashedLeavesNoLockAndOnlyWholeGroups() async throws {
    let path = folder.database
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
      let opened = try Opened(SQLiteDriver(path: path, settings: SQLiteSettings()))
      let store = try opened.store()
      #expect(try opened.driver.begin(as: opened.owner))
      try opened.driver.save(Data("1".utf8), at: SavedRow(part: 0, key: ""), ofStore: store)
      kill(getpid(), SIGKILL)
    }
    let opened = try Opened(folder.driver())
    #expect(opened.owner == PersistenceOwner(epoch: 2, group: 1))
    #expect(try opened.group { try $0.store("store") }?.number == 1)
    #expect(try opened.rows(1).isEmpty)
  }

  @Test func aSecondDriverOfTheSameProcessIsRefused() throws {
    let first = try Opened(folder.driver())
    try expect(.inUse, "this process, process \(getpid())") { _ = try folder.driver().open() }
    try expect(.inUse) { _ = try first.driver.open() }
    let line = try String(contentsOfFile: folder.database + "-owner", encoding: .utf8)
    #expect(line.hasPrefix("\(getpid()) ") && line.hasSuffix("\n"))
    #expect(try first.store() == 1)
    first.driver.close()
    #expect(try folder.driver().open().epoch == 2)
  }

  @Test func aDriverThatGoesAwayUnlocks() throws {
    _ = try Opened(folder.driver())
    #expect(try folder.driver().open().epoch == 2)
  }

  @Test func aPersistenceThatIsReleasedLateLeavesTheNextOneOpen() async throws {
    let database = PersistenceDatabase.sqlite(path: folder.database)
    var former: Persistence? = try await Persistence(database)
    let present = { [weak former] in former }
    try await former?.close()
    let next = try await Persistence(database)
    former = nil
    while present() != nil { await Task.yield() }
    let dispatcher = Dispatcher(name: "shop", persistence: next)
    try await dispatcher.register(
      store: Store<Int, HandledAction>(identifier: "count", model: 0) {
        On(Count.self) { count, _ in count += 1 }
      }, persisted: .model)
    #expect(await dispatcher.send(Count()).result.isSuccess)
    try await next.close()
  }

  @Test func aDriverUnlocksAlthoughAChildHasACopyOfItsLock() throws {
    let opened = try Opened(folder.driver())
    let file = try #require(
      (0 as Int32..<1024).first {
        FileIdentity(descriptor: $0) == FileIdentity(path: folder.database + "-owner")
      })
    let copy = dup(file)
    opened.driver.close()
    #expect(try folder.driver().open().epoch == 2)
    close(copy)
  }

  @Test func aLinkLeadsToTheSameLock() throws {
    let link = folder.file("link.db")
    try FileManager.default.createSymbolicLink(
      atPath: link, withDestinationPath: "shop.db")
    // The link's target doesn't exist yet.
    let linked = SQLiteDriver(path: link, settings: SQLiteSettings())
    #expect(try linked.open().epoch == 1)
    try expect(.inUse) { _ = try folder.driver().open() }
    linked.close()
    let opened = try Opened(folder.driver())
    #expect(opened.owner.epoch == 2)
    try expect(.inUse) { _ = try linked.open() }
  }

  /// The lock file of each hard link would let another process in.
  @Test func aFileWithTwoHardLinksIsRefusedAtBoth() throws {
    let link = folder.file("link.db")
    let opened = try Opened(folder.driver())
    try FileManager.default.linkItem(atPath: folder.database, toPath: link)
    let linked = SQLiteDriver(path: link, settings: SQLiteSettings())
    try expect(.cannotOpen, link, "2 hard links", "find -samefile") { _ = try linked.open() }
    #expect(!FileManager.default.fileExists(atPath: link + "-owner"))
    #expect(try opened.store() == 1)
    opened.driver.close()
    try expect(.cannotOpen, folder.database, "2 hard links") { _ = try folder.driver().open() }
    unlink(link)
    #expect(try folder.driver().open().epoch == 2)
  }

  @Test func aLockFileThatCantBeMadeIsNamed() throws {
    let file = folder.database + "-owner"
    try FileManager.default.createDirectory(atPath: file, withIntermediateDirectories: false)
    try expect(.cannotOpen, file, "Is a directory") { _ = try folder.driver().open() }
    #expect(!FileManager.default.fileExists(atPath: folder.database))
  }

  @Test func anotherOwnersEpochIsNoticed() throws {
    let opened = try Opened(folder.driver())
    try Stranger(folder.database).run("UPDATE dispatchstore_owner SET epoch = epoch + 1")
    try expect(.notOwner, "its epoch is 2", "this process has epoch 1") {
      _ = try opened.driver.begin(as: opened.owner)
    }
    try expect(.statement, "no transaction") { try opened.driver.commit() }
  }

  @Test func aRemovedLockFileDoesntLetTwoOwnersWrite() throws {
    let first = try Opened(folder.driver())
    try FileManager.default.removeItem(atPath: folder.database + "-owner")
    let second = try Opened(folder.driver())
    try expect(.notOwner) { _ = try first.driver.begin(as: first.owner) }
    #expect(try second.store() == 1)
  }

  @Test func aRemovedOwnerIsNoticed() throws {
    let opened = try Opened(folder.driver())
    try Stranger(folder.database).run("DELETE FROM dispatchstore_owner")
    try expect(.corrupt, "owner") { _ = try opened.driver.begin(as: opened.owner) }
  }

  @Test func aMovedDatabaseIsNoticed() throws {
    let opened = try Opened(folder.driver())
    try FileManager.default.moveItem(atPath: folder.database, toPath: folder.file("old.db"))
    try expect(.moved, folder.database) { _ = try opened.driver.begin(as: opened.owner) }
    try FileManager.default.moveItem(atPath: folder.file("old.db"), toPath: folder.database)
    #expect(try opened.store() == 1)
  }

  @Test func aReplacedDatabaseIsNoticed() throws {
    let opened = try Opened(folder.driver())
    try FileManager.default.moveItem(atPath: folder.database, toPath: folder.file("old.db"))
    try FileManager.default.copyItem(atPath: folder.file("old.db"), toPath: folder.database)
    try expect(.moved) { _ = try opened.driver.begin(as: opened.owner) }
  }

  @Test func aRemovedFolderIsNoticed() throws {
    let opened = try Opened(folder.driver())
    try FileManager.default.removeItem(atPath: folder.path)
    try expect(.moved, folder.database) { _ = try opened.driver.begin(as: opened.owner) }
  }

  @Test func aRemovedJournalIsNoticed() throws {
    let opened = try Opened(folder.driver())
    try FileManager.default.removeItem(atPath: folder.database + "-wal")
    try expect(.moved, "-wal") { _ = try opened.driver.begin(as: opened.owner) }
  }
}
