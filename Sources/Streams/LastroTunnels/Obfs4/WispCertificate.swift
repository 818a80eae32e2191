// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroWire

/// The text format of obfs4's certificate: base64 (RFC 4648 §4) of 52 bytes. Errors contain lengths and positions, but
/// never a character.
enum WispCertificate {
  private static let byteCount = 52
  private static let characterCount = 70
  private static let hint = "copy it from the bridge line: it stands behind cert=, and has 70 characters"

  /// Returns node ID and public key. The last 4 bits of the 70th character are ignored, as in obfs4proxy.
  static func bytes(of text: String) throws(ConfigurationError) -> [UInt8] {
    var characters = Array(text.utf8)
    guard !characters.isEmpty else { throw ConfigurationError("the obfs4 certificate is empty", hint: hint) }
    if characters.suffix(2) == [0x3D, 0x3D] { characters.removeLast(2) }
    if let place = characters.firstIndex(where: { !Base64.alphabet.contains($0) }) {
      throw foreign(characters[place], at: place + 1)
    }
    guard characters.count == characterCount, let bytes = Base64.decode(characters) else {
      throw ConfigurationError(
        "the obfs4 certificate has \(characters.count.counted("character")) instead of \(characterCount)", hint: hint)
    }
    return bytes
  }

  private static func foreign(_ character: UInt8, at place: Int) -> ConfigurationError {
    let hint =
      switch character {
      case UInt8(ascii: " "): "a + was read as a space: hand the certificate on as it is, or write + as %2B"
      case UInt8(ascii: "-"), UInt8(ascii: "_"): "write it in base64 with + and /, not in the alphabet for URLs"
      default: Self.hint
      }
    return ConfigurationError("character \(place) of the obfs4 certificate is not base64", hint: hint)
  }

  static func identity(of bytes: [UInt8]) throws(ConfigurationError) -> Obfs4Identity {
    guard let identity = Obfs4Identity(certificate: bytes) else {
      throw ConfigurationError(
        "the obfs4 certificate has \(bytes.count.counted("byte")) instead of \(byteCount)", hint: hint)
    }
    return identity
  }

  /// Returns the certificate without `==`.
  static func text(of bytes: [UInt8]) -> String { String(Base64.encode(bytes).prefix { $0 != "=" }) }

  /// - Parameter name: the name of the value, "node id" or "public key".
  static func bytes(
    ofHexadecimal text: String, count: Int, _ name: String
  ) throws(ConfigurationError) -> [UInt8] {
    let digits = text.utf8.compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
    guard text.utf8.count == 2 * count, digits.count == 2 * count else {
      throw ConfigurationError(
        "the obfs4 \(name) is not \(2 * count) hexadecimal digits",
        hint: "copy it from the bridge line, or give the certificate instead")
    }
    return stride(from: 0, to: 2 * count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
  }
}
