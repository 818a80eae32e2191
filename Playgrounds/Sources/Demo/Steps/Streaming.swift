// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro

extension Step {
  static let streaming = Step(
    title: "A body as a stream",
    explanation: """
      stream() returns when the head is there. The body is read as fast as the loop takes it, and no faster:
      the server is held up meanwhile, and only a small buffer lies in memory.
      """
  ) { stage in
    let size = 8 << 20
    stage.asked("stream(.archive(\"apple\", \"swift\", bytes: \(size)))")
    let archive = try await stage.stack.stream(.archive("apple", "swift", bytes: size))
    stage.came(
      "\(archive.response.status), the head; Content-Length: \(archive.response.headerFields[.contentLength] ?? "?")")
    var chunks = 0
    var largest = 0
    var received = 0
    var isRight = true
    for try await chunk in archive.value {
      // The server's bytes count from 0 to 255 repeatedly.
      isRight = isRight && chunk.first == UInt8(truncatingIfNeeded: received)
      received += chunk.count
      isRight = isRight && chunk.last == UInt8(truncatingIfNeeded: received - 1)
      largest = max(largest, chunk.count)
      chunks += 1
    }
    stage.came("\(received) bytes in \(chunks) chunks, the largest of \(largest) bytes")
    try stage.check("all bytes came, in order", received == size && isRight)
    try stage.check("they came in pieces", chunks > 1 && largest < size)

    stage.asked("the same again, and no more than the first chunk read")
    let before = stage.server.requests.count
    let given = try await stage.stack.stream(.archive("apple", "swift", bytes: size))
    var first = 0
    for try await chunk in given.value {
      first = chunk.count
      break
    }
    given.value.cancel()
    stage.came("\(first) bytes; the rest was given up")
    try stage.check("the body was left early", first > 0 && first < size)
    try stage.check("the server got one request", stage.requests(since: before).count == 1)
  }
}
