// Numbers as decimal digits, to the ends of their types.

import HTTPMessage
import Testing

@Suite struct DecimalTests {
  @Test(arguments: [0, 9, 10, 99, 100, 65_535, 1 << 40, .max, -1, -10, .min] as [Int64])
  func digitsAreThoseOfTheNumber(_ number: Int64) {
    var octets: [UInt8] = [UInt8(ascii: "=")]
    octets.append(decimal: number)
    #expect(String(decoding: octets, as: UTF8.self) == "=\(number)")
  }

  @Test func theLargestNumberHasTwentyDigits() {
    var octets: [UInt8] = []
    octets.append(decimal: UInt64.max)
    #expect(String(decoding: octets, as: UTF8.self) == "18446744073709551615")
  }
}
