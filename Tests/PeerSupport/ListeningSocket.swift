// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A TCP socket that listens on 127.0.0.1, as `/proc` shows it.
struct ListeningSocket {
  private let link: String

  /// - Throws: ``PeerError`` when nobody listens there.
  init(port: Int) throws {
    // While sockets come and go, a table that is read in pieces may lack some: it is read again.
    for _ in 0..<1000 {
      if let inode = Self.inode(port: port) {
        link = "socket:[\(inode)]"
        return
      }
    }
    throw PeerError("Nobody listens on port \(port).")
  }

  private static func inode(port: Int) -> Substring? {
    let hexadecimal = String(port, radix: 16, uppercase: true)
    let ending = ":" + String(repeating: "0", count: 4 - hexadecimal.count) + hexadecimal
    let rows = KernelFile.text("/proc/self/net/tcp").split(separator: "\n")
    // Columns of proc(5): local address 1, state 3 (0A listens), inode 9.
    return rows.lazy.map { $0.split(separator: " ") }.first {
      $0.count > 9 && $0[1].hasSuffix(ending) && $0[3] == "0A"
    }?[9]
  }

  /// The processes that have it open; those of other users are not seen.
  func owners() -> Set<Int32> {
    let processes = ((try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []).compactMap { Int32($0) }
    return Set(processes.filter(isOpen))
  }

  private func isOpen(in process: Int32) -> Bool {
    let directory = "/proc/\(process)/fd"
    let descriptors = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
    return descriptors.contains {
      (try? FileManager.default.destinationOfSymbolicLink(atPath: "\(directory)/\($0)")) == link
    }
  }
}
