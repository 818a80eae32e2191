// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Lastro
internal import LastroSupport
internal import LastroWire

extension AddressRange {
  /// Parses an address, or a network such as `10.0.0.0/8` or `fd00::/8`.
  ///
  /// - Parameters:
  ///   - text: the address or network, without brackets.
  ///   - ports: the ports that the range covers. Default `nil`: all.
  /// - Throws: `ConfigurationError` for text that is not an address or network, and for ports outside 0…65535.
  init(_ text: String, ports: ClosedRange<Int>? = nil) throws(ConfigurationError) {
    let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    let base = try IPAddress(text: parts.first.map(String.init) ?? "")
    var bits = base.width
    if parts.count == 2 {
      guard let number = Int(digits: parts[1]), (0...base.width).contains(number) else {
        throw ConfigurationError(
          "the network \(text) has a prefix outside of 0…\(base.width)", hint: "write it as in 10.0.0.0/8")
      }
      bits = number
    }
    if let ports, ports.lowerBound < 0 || ports.upperBound > 65_535 {
      throw ConfigurationError(
        "the ports \(ports.lowerBound)…\(ports.upperBound) are outside of 0…65535", hint: "give TCP ports")
    }
    self.init(base: base, bits: bits, ports: ports)
  }
}
