// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro

/// A part of a file, read while it is sent.
struct FilePart: AsyncSequence, Sendable {
  typealias Element = Data

  private static let chunkBytes: Int64 = 64 * 1024

  let file: any OpenFile
  let from: Int64
  let count: Int64
  let progress: TransferProgressReporter.Transfer?

  struct AsyncIterator: AsyncIteratorProtocol {
    let part: FilePart
    var done: Int64 = 0

    mutating func next() async throws -> Data? {
      guard done < part.count else { return nil }
      do throws(FileFailure) {
        let bytes = try part.file.read(upTo: Int(Swift.min(chunkBytes, part.count - done)), at: part.from + done)
        // The file became shorter: the body ends with fewer bytes than announced, and the request fails.
        guard !bytes.isEmpty else { return nil }
        done += Int64(bytes.count)
        part.progress?.report(sent: part.from + done)
        return bytes
      } catch {
        throw error.transportError(requestSent: true)
      }
    }
  }

  func makeAsyncIterator() -> AsyncIterator { AsyncIterator(part: self) }

  /// The part as a body that can be sent again.
  var body: RequestBody { .stream(self, length: count, isReplayable: true) }
}
