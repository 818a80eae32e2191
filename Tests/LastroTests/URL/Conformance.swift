// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// Public test data beside the package; not part of it.
enum Conformance {
  static let folder = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "../../../../shared/data/conformance")

  static func has(_ path: String) -> Bool {
    FileManager.default.fileExists(atPath: folder.appending(path: path).path)
  }

  static func data(_ path: String) throws -> Data { try Data(contentsOf: folder.appending(path: path)) }
}
