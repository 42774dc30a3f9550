-- makes: the word lists, as list variables; nothing here comes from outside.
set variable first_names = [
  'Ada', 'Aisha', 'Alex', 'Amelia', 'Anders', 'Anna', 'Arjun', 'Ben', 'Bianca', 'Carlos', 'Caroline',
  'Chloe', 'Clara', 'Daniel', 'David', 'Diego', 'Elena', 'Elif', 'Emil', 'Emma', 'Ethan', 'Eva', 'Fatima',
  'Felix', 'Freya', 'Gabriel', 'Grace', 'Hannah', 'Hugo', 'Ida', 'Ines', 'Isaac', 'Jack', 'Jada', 'Jonas',
  'José', 'Julia', 'Kai', 'Karim', 'Lars', 'Laura', 'Leo', 'Lily', 'Lucas', 'Lucía', 'Maja', 'Marcus',
  'Maria', 'Mei', 'Mia', 'Nadia', 'Noah', 'Nora', 'Olivia', 'Omar', 'Oscar', 'Priya', 'Rosa', 'Sam',
  'Sofia', 'Theo', 'Yuki', 'Zara', 'Zoë'];
set variable last_names = [
  'Abbott', 'Ahmed', 'Andersen', 'Baker', 'Bauer', 'Bell', 'Bennett', 'Berg', 'Brown', 'Carter', 'Castro',
  'Chen', 'Clarke', 'Cohen', 'Costa', 'Davies', 'Dubois', 'Dupont', 'Edwards', 'Evans', 'Fischer',
  'Fisher', 'Garcia', 'Gómez', 'Green', 'Gupta', 'Hall', 'Hansen', 'Hill', 'Hughes', 'Ito', 'Jansen',
  'Jones', 'Kaya', 'Khan', 'Kim', 'King', 'Kowalski', 'Larsen', 'Lee', 'Lopez', 'Martin', 'Meyer', 'Moore',
  'Müller', 'Murphy', 'Nguyen', 'Novak', 'O''Brien', 'Olsen', 'Patel', 'Perez', 'Reed', 'Rossi', 'Schmidt',
  'Silva', 'Singh', 'Smith', 'Tanaka', 'Taylor', 'Walker', 'Weber', 'Wood', 'Young'];
-- Line numbers in the 555 exchange, from 0100 on: the first hundred of each area are reserved for fiction.
set variable area_codes = [
  '201', '202', '203', '205', '206', '207', '208', '209', '210', '212', '213', '214', '215', '216', '217',
  '218', '219', '224', '225', '228', '229', '231', '234', '239', '240', '248', '251', '252', '253', '254',
  '256', '260', '262', '267', '269', '270', '276', '281', '301', '302', '303', '304', '305', '307', '308',
  '309', '310', '312', '313', '314', '315', '316', '317', '318', '319', '320', '321', '323', '325', '330',
  '334', '336', '337', '339', '347', '351', '352', '360', '361', '386', '401', '402', '404', '405', '406',
  '407', '408', '409', '410', '412', '413', '414', '415', '417', '419', '423', '425', '432', '434', '435',
  '440', '443', '469', '478', '479', '480', '484', '501', '502', '503', '504', '505', '507', '508', '509',
  '510', '512', '513', '515', '516', '517', '518', '520', '530', '540', '541', '551', '559', '561', '562',
  '563', '567', '570', '571', '573', '574', '580', '585', '586', '601', '602', '603', '605', '606', '607',
  '608', '609', '610', '612', '614', '615', '616', '617', '618', '619', '620', '623', '626', '630', '631',
  '636', '641', '646', '650', '651', '660', '661', '662', '678', '682', '701', '702', '703', '704', '706',
  '707', '708', '712', '713', '714', '715', '716', '717', '718', '719', '720', '724', '727', '731', '732',
  '734', '740', '754', '757', '760', '763', '765', '770', '772', '773'];
set variable collections = ['Coffee', 'Tea', 'Brewing', 'Mugs and Cups', 'Kitchen', 'Pantry'];
set variable adjectives = [
  ['Ethiopia Guji', 'Colombia Huila', 'Guatemala Antigua', 'Kenya Nyeri', 'Brazil Cerrado',
    'Sumatra Mandheling', 'House Blend'],
  ['Jasmine', 'Sencha', 'Assam', 'Darjeeling', 'Earl Grey', 'Rooibos', 'Chamomile'],
  ['Glass', 'Copper', 'Steel', 'Ceramic', 'Bamboo', 'Matte Black', 'Walnut'],
  ['Ocean Blue', 'Oat', 'Forest', 'Charcoal', 'Terracotta', 'Blush', 'Speckled'],
  ['Natural', 'Indigo', 'Olive', 'Rust', 'Sand', 'Slate', 'Mustard'],
  ['Dark Chocolate', 'Salted Caramel', 'Almond', 'Hazelnut', 'Ginger', 'Lemon', 'Vanilla']];
set variable nouns = [
  ['Light Roast', 'Medium Roast', 'Dark Roast', 'Espresso', 'Decaf'],
  ['Loose Leaf', 'Tea Bags', 'Iced Blend', 'Gift Tin', 'Organic Harvest'],
  ['Pour-Over Dripper', 'French Press', 'Gooseneck Kettle', 'Hand Grinder', 'Tea Infuser'],
  ['Stoneware Mug', 'Espresso Cup', 'Travel Tumbler', 'Latte Bowl', 'Tea Cup'],
  ['Linen Apron', 'Tea Towel', 'Storage Jar', 'Serving Board', 'Oven Mitt'],
  ['Biscotti', 'Granola', 'Syrup', 'Cookies', 'Spread']];
set variable sizes = [
  ['250 g', '500 g', '1 kg'], ['50 g', '100 g', '250 g'], ['Small', 'Large'], ['Single', 'Set of 4'],
  ['One size'], ['Single', 'Box of 6']];
set variable search_words = [
  'espresso', 'decaf', 'gift', 'mug', 'grinder', 'green tea', 'filter', 'travel cup', 'chocolate',
  'kettle', 'beans', 'iced tea'];
-- Lines of a cart, as ten equally likely counts.
set variable line_counts = [1, 1, 1, 1, 1, 2, 2, 2, 3, 4];
set variable pages = ['/', '/', '/', '/pages/about', '/pages/shipping', '/blogs/journal'];
