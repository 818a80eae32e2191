// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials

/// An encoder of one body. It is used by one task at a time.
package protocol ContentEncoding: AnyObject {
  /// Returns the coded form of these bytes, from which a receiver can decode all of them before more follow.
  ///
  /// - Parameter isLast: whether no bytes follow. The encoder must not be used any more then.
  /// - Throws: `request/invalid_body` if the library fails.
  func encode(_ bytes: Data, isLast: Bool) throws(TransportError) -> Data
}

extension TransportError {
  /// The error for a library that cannot compress, such as for lack of memory.
  package static func cannotCompress(_ coding: String) -> TransportError {
    .refused(
      .invalidBody, "the body cannot be compressed by \(coding): there is too little memory",
      hint: "give the process more memory, or send the body as it is")
  }
}
