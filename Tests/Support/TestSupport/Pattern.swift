// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials

/// Returns the content of a peer's file: byte `i` is `i % 251`.
package func pattern(_ count: Int) -> Data {
  let period = Data(0..<251)
  var data = Data(capacity: count + period.count)
  while data.count < count { data += period }
  return data.prefix(count)
}
