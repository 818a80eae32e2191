// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import HTTPTypes
import Lastro
import LastroEveryday
import LastroSQLiteCache
import LastroSupport
import TestSupport
import Testing

@Suite("Processes killed while they store responses", .timeLimit(.minutes(15)))
struct KilledWriterTests {
  /// The number of times that a process is killed at an arbitrary moment; `make long` raises it.
  static let kills = ProcessInfo.processInfo.environment["LASTRO_KILLS"].flatMap { Int($0) } ?? 8

  /// Returns a body that depends on its number, so that a torn body, or that of another answer, is recognized.
  static func body(_ number: Int) -> Data {
    Data(repeating: UInt8(number % 251), count: number.isMultiple(of: 2) ? 100_000 + number : 100 + number)
  }

  /// Opens the folder after its writer was killed, expects each stored answer to be whole, and returns their number.
  static func check(_ folder: SQLiteCacheStoreTests.Folder) async throws -> Int {
    let store = try SQLiteCacheStore(directory: folder.path)
    var whole = 0
    for number in 0..<200 {
      let key = SQLiteCacheStoreTests.key(UInt8(number))
      guard let head = await store.heads(for: key).first else { continue }
      #expect(await store.body(of: head.id)?.bytes == body(number), "response \(number) is incomplete")
      whole += 1
    }
    return whole
  }

  @Test("A kill at any step of writing leaves no partial response", .ownThread, arguments: BodyFiles.Step.allCases)
  func steps(step: BodyFiles.Step) async throws {
    let folder = SQLiteCacheStoreTests.Folder()
    let path = folder.path
    let name = step.rawValue
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String, name = name as String] in
      let count = Lock(0)
      let store = try SQLiteCacheStore(
        directory: path, maximumBytes: 1 << 28, maximumEntryBytes: 1 << 24, persistsCredentialed: false,
        time: .continuous, random: .system, onEvent: nil
      ) { now in
        guard now.rawValue == name,
          count.withLock({
            $0 += 1; return $0
          }) == 3
        else { return 0 }
        kill(getpid(), SIGKILL)
        return 0
      }
      for number in 0..<200 {
        await SQLiteCacheStoreTests.add(store, SQLiteCacheStoreTests.key(UInt8(number)), KilledWriterTests.body(number))
      }
    }
    // Only every second body is a file, so the third step that concerns files is that of answer 4. The step that
    // concerns all answers is that of answer 2.
    #expect(try await Self.check(folder) == (step == .inserted ? 2 : 4))
  }

  @Test("A kill at any moment leaves no partial response", .ownThread, arguments: 0..<kills)
  func anyMoment(round: Int) async throws {
    let folder = SQLiteCacheStoreTests.Folder()
    let path = folder.path
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String, round = round as Int] in
      let store = try SQLiteCacheStore(directory: path)
      let killer = Thread {
        usleep(UInt32(2_000 + round * 7_919 % 63_352))
        kill(getpid(), SIGKILL)
      }
      killer.start()
      // Writes for longer than the thread waits, however slow the machine is: the same answers are written again and
      // again.
      while true {
        for number in 0..<200 {
          await SQLiteCacheStoreTests.add(
            store, SQLiteCacheStoreTests.key(UInt8(number)), KilledWriterTests.body(number))
        }
      }
    }
    _ = try await Self.check(folder)
  }
}
