// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Testing

@testable import LastroHTTP

@Suite("The progress of a request body")
struct UploadProgressTests {
  @Test("A body in memory is handed over in pieces, each once, also if it is a slice", arguments: [0, 3])
  func pieces(skipped: Int) {
    let body = Data("abcdefgh".utf8).dropFirst(skipped)
    var upload = UploadProgress()
    var pieces: [Data] = []
    while case let piece = upload.next(of: body, upTo: 3), !piece.isEmpty {
      pieces.append(piece)
      upload.offset += piece.count
    }
    #expect(pieces.allSatisfy { $0.count <= 3 } && pieces.count == (body.count + 2) / 3)
    #expect(pieces.reduce(Data(), +) == body)
  }
}
