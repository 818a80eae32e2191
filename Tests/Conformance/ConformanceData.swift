// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials

/// The public test data beside this file; `README.md` tells where each is from.
package enum ConformanceData {
  /// A file's content, by its path in this folder: `llhttp/responses.json`.
  package static func file(_ path: String) throws -> Data {
    try Data(contentsOf: URL(filePath: #filePath).deletingLastPathComponent().appending(path: path))
  }
}
