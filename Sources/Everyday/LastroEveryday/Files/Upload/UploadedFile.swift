// SPDX-License-Identifier: Apache-2.0

package import Lastro

/// An uploaded file: the server has received all of it.
package struct UploadedFile: Sendable {
  /// The URL of the upload; `nil` if the server accepted the content without creating one.
  package var url: String?
  /// The number of bytes.
  package var length: Int64
  /// The number of bytes that the server had when an earlier upload was resumed.
  package var resumedFrom: Int64
  /// The number of requests sent.
  package var requests: Int
  /// The last response.
  package var response: ResourceResponse
}
