// SPDX-License-Identifier: Apache-2.0

package import Lastro

/// A placeholder for a dialer in the validation of a tunnel.
package struct NowhereDialer: Dialer {
  package init() {}

  package func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream {
    throw .refused(
      .unsupported, "NowhereDialer opens nothing: it stands in where a chain is only checked",
      hint: "dial through the chain's own dialer")
  }
}
