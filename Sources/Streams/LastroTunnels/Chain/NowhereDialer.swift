// SPDX-License-Identifier: Apache-2.0

package import Lastro

/// A placeholder for a dialer in the validation of a tunnel.
package struct NowhereDialer: Dialer {
  package init() {}

  package func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream {
    throw .refused(
      .unsupported, "NowhereDialer opens no connection: it is a placeholder for checking a chain",
      hint: "dial through the chain's own dialer")
  }
}
